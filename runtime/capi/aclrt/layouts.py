"""Structs of acl_rt.h that more than one chapter, or the chapters and pyACL, read and write."""

from __future__ import annotations

import struct

FAILED_RANGE = struct.Struct("<QQ112s")
"""aclrtMemUceInfo: address, bytes, 14 reserved words."""
LIST = struct.Struct("<QQ")
"""Address and number of what a configuration lists: aclrtMallocConfig, aclrtBinaryLoadOptions, aclrtLaunchKernelCfg."""
CHOICE = struct.Struct("<I4I")
"""aclrtBinaryLoadOption and aclrtLaunchKernelAttr: type or id, and a value of 16 bytes."""
MALLOC_ATTRIBUTE = struct.Struct("<IIxxxx")
"""aclrtMallocAttribute: which one, and its value in the low half of a union of 8 bytes."""
PHYSICAL_PROPERTIES = struct.Struct("<IIIII4xQ")
"""aclrtPhysicalMemProp: handle type, allocation type, memory attribute, location id and type, a reserved word."""
PLACEHOLDER = struct.Struct("<II")
"""aclrtPlaceHolderInfo: offset of the pointer, offset of its data."""
STREAM_VALUE = struct.Struct("<Q8x")
"""aclrtStreamAttrValue: a union of 16 bytes."""
