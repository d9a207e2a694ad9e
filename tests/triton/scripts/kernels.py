"""Vector add, a reduction and a matmul by `@triton.jit`, twice each; ends with 0 if the results are right."""

import threading

import ml_dtypes
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
def clip(value, high):
    return tl.where(value > high, high, value)


@triton.jit
def matmul(a, b, c, M, N, K, high, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(K, BK)):
        k = step * BK + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], clip(total, high), mask=(m[:, None] < M) & (n[None, :] < N))


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

a, b = random.random((50, 70)).astype("f2"), random.random((70, 40)).astype("f2")
for _ in range(2):
    out = device.empty((50, 40))
    grid = triton.cdiv(50, 32), triton.cdiv(40, 32)
    compiled = matmul[grid](device.upload(a), device.upload(b), out, 50, 40, 70, 18.0, BM=32, BN=32, BK=32)
    assert np.allclose(np.asarray(out), np.minimum(a.astype("f4") @ b.astype("f4"), 18), atol=1e-2)
assert compiled.metadata.mix_mode == "mix"

with device.create_stream() as stream, runtime.triton.stream(stream):
    out = device.empty(n)
    add[(8,)](device.upload(x), device.upload(y), out, n, 1, BLOCK=128)  # 1 is a constant of the compile
    stream.synchronize()
    assert np.array_equal(np.asarray(out), x + y)
half = device.upload(rows.astype(ml_dtypes.bfloat16).reshape(-1))
out = device.empty(600, "bfloat16")
add[(5,)](half, half, out, 600, 0.75, BLOCK=128)
values = half.numpy()
assert np.array_equal(np.asarray(out), values + ml_dtypes.bfloat16(0.75) * values)

failures = []


def repeat() -> None:
    """Compile and launch in a thread, while others do."""
    try:
        for block in (16, 32, 64):
            held = device.empty(n)
            add[(triton.cdiv(n, block),)](device.upload(x), device.upload(y), held, n, 3.0, BLOCK=block)
            assert np.array_equal(np.asarray(held), x + np.float32(3) * y)
    except Exception as failure:
        failures.append(failure)


threads = [threading.Thread(target=repeat) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
print("kernels: right")
