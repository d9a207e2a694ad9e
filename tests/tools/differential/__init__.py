"""Random programs over the C API, on two implementations of it: what does one answer that the other does not?

`python -m tests.tools.differential --library PATH/libascendcl.so [--chip NAME] [--programs N] [--seed S]` runs them on
a library, in a process of its own, and on `runtime.capi.aclrt` in another one, with the same machine. Without
--library it is ours, through C.
"""
