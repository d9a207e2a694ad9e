"""Vector add, a reduction and a matmul by `@triton.jit`, twice each; ends with 0 if the results are right."""

import numpy as np
import triton
import triton.language as tl

import runtime.triton

device = runtime.triton.current_device()
some_array = np.zeros(3)  # globals that are arrays must not disturb the interpreter


@triton.jit
def add(x, y, out, n, alpha, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + alpha * tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):
    row, offsets = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


@triton.jit
def matmul(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(left, right))


random = np.random.default_rng(7)
n = 1000
x, y = random.random(n, "f4"), random.random(n, "f4")
for alpha in (2.0, 0.5):
    out = device.empty(n)
    add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](device.upload(x), device.upload(y), out, n, alpha, BLOCK=128)
    assert np.array_equal(np.asarray(out), x + np.float32(alpha) * y)

rows = random.random((6, 100), "f4")
for _ in range(2):
    out = device.empty(6)
    row_sum[(6,)](device.upload(rows), out, 100, BLOCK=128)
    assert np.allclose(np.asarray(out), rows.sum(1))

a, b = random.random((32, 16)).astype("f2"), random.random((16, 64)).astype("f2")
for _ in range(2):
    out = device.empty((32, 64))
    compiled = matmul[(1,)](device.upload(a), device.upload(b), out, 32, 64, 16)
    assert np.allclose(np.asarray(out), a.astype("f4") @ b.astype("f4"), atol=1e-3)
assert compiled.metadata.mix_mode == "mix"

with device.create_stream() as stream, runtime.triton.stream(stream):
    out = device.empty(n)
    add[(8,)](device.upload(x), device.upload(y), out, n, 1, BLOCK=128)  # 1 is a constant of the compile
    stream.synchronize()
    assert np.array_equal(np.asarray(out), x + y)
print("kernels: right")
