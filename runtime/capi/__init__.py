"""The vendor's names: the C API (`aclrt`) and pyACL (`pyacl`), both on the same objects as the Pythonic surface."""
