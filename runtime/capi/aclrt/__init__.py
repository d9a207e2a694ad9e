"""The vendor's C API by name: functions with the header's parameters, integers as handles, codes as results.

`Acl().call("aclrtMalloc", devPtr=Out(), size=4096, policy=0)` returns the code that the C function would. It is what
the pyACL module and the scenario replay stand on; Python programs use `import runtime` instead.
"""

from runtime.capi.aclrt.entry import Out, entry, names
from runtime.capi.aclrt.state import Acl

__all__ = ["Acl", "Out", "entry", "names"]
