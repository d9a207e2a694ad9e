"""What pyproject.toml cannot say: the extension is optional, and NPUHAL_PURE=1 leaves it out.

A pure wheel is one for all machines (py3-none-any) and complete. Without a C compiler, or on an interpreter that the
sources refuse, the extension is left out as well.
"""

import os

from setuptools import Extension, setup

SEND = Extension(
    "runtime.core.submission._send", ["runtime/core/submission/_send.c"], optional=True,
    extra_compile_args=["-std=gnu11", "-O2", "-g0"],
)  # fmt: skip

setup(ext_modules=[] if os.environ.get("NPUHAL_PURE") == "1" else [SEND])
