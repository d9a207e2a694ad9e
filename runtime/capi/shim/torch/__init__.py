"""torch_npu without a card and without CANN: what its wheel needs beside libascendcl.so (`npuhal shim torch`).

`wheel` reads what an installed torch_npu asks for, `libraries` writes it, `calls` answers the functions that are no
part of the C API, and `operators` computes operators on the host. Nothing of it is imported unless it is asked for.
"""
