"""The C API as a shared library: libascendcl.so made of this runtime, and headers for it (`npuhal shim runtime`).

`declarations` reads the tables of functions, types and values; `headers` and `stubs` write C from them, `build`
compiles the library, and `by_name` finds it for Python programs; in a program that loads it `bridge` carries calls to
the entries of `runtime.capi.aclrt`.
"""
