"""An autotuned kernel, hooks, and a kernel that leaves its memory."""

import numpy as np
import triton
import triton.language as tl
from triton.compiler import CompiledKernel

import runtime
import runtime.triton

device = runtime.triton.current_device()
CONFIGS = [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})]


@triton.autotune(configs=CONFIGS, key=["n"], reset_to_zero=["out"], restore_value=["x"])
@triton.jit
def accumulate(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.atomic_add(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


@triton.jit
def too_far(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


n = 1000
x = np.random.default_rng(7).random(n, "f4")
held, out = device.upload(x), device.upload(np.zeros(n, "f4"))
accumulate[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](held, out, n)
assert np.array_equal(np.asarray(out), x), "the kernel ran once for the result, whatever was measured"
assert accumulate.best_config in CONFIGS

calls = []
CompiledKernel.launch_enter_hook = lambda about: calls.append(about.get()["name"])
CompiledKernel.launch_exit_hook = lambda about: calls.append("left")
too_far[(4,)](held, out, BLOCK=256)
CompiledKernel.launch_enter_hook = CompiledKernel.launch_exit_hook = None
assert calls == ["too_far aiv", "left"]
message = ""
try:
    device.synchronize()
except runtime.RuntimeFault as failure:
    message = str(failure)
assert "kernel too_far failed" in message, "reading outside of the arguments was not noticed"

runtime.triton.install(device, interpret=True)
accumulate.fn[(16,)](held, out, n, BLOCK=64)  # compiles again for the new installation
assert np.array_equal(np.asarray(out), x + x)
print("tuned: right")
