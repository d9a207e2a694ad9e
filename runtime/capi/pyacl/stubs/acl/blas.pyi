"""Types of acl.blas; made from the tables of calls by tests/tools/acl_stubs.py."""


def create_handle_for_gemm_ex(trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, type_a: int, type_b: int, type_c: int, compute_type: int, /) -> tuple[int, int]:
    """acl.blas.create_handle_for_gemm_ex; gives (handle, ret); not supported here: warns and answers 200001."""
def create_handle_for_gemv_ex(trans_a: int, m: int, n: int, type_a: int, type_x: int, type_y: int, compute_type: int, /) -> tuple[int, int]:
    """acl.blas.create_handle_for_gemv_ex; gives (handle, ret); not supported here: warns and answers 200001."""
def create_handle_for_hgemm(trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, compute_type: int, /) -> tuple[int, int]:
    """acl.blas.create_handle_for_hgemm; gives (handle, ret); not supported here: warns and answers 200001."""
def create_handle_for_hgemv(trans_a: int, m: int, n: int, compute_type: int, /) -> tuple[int, int]:
    """acl.blas.create_handle_for_hgemv; gives (handle, ret); not supported here: warns and answers 200001."""
def create_handle_for_s8gemm(trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, compute_type: int, /) -> tuple[int, int]:
    """acl.blas.create_handle_for_s8gemm; gives (handle, ret); not supported here: warns and answers 200001."""
def create_handle_for_s8gemv(trans_a: int, m: int, n: int, compute_type: int, /) -> tuple[int, int]:
    """acl.blas.create_handle_for_s8gemv; gives (handle, ret); not supported here: warns and answers 200001."""
def gemm_ex(trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, type_a: int, b: int, ldb: int, type_b: int, beta: int, c: int, ldc: int, type_c: int, compute_type: int, stream: int, /) -> int:
    """acl.blas.gemm_ex; not supported here: warns and answers 200001."""
def gemv_ex(trans_a: int, m: int, n: int, alpha: int, a: int, lda: int, type_a: int, x: int, incx: int, type_x: int, beta: int, y: int, incy: int, type_y: int, compute_type: int, stream: int, /) -> int:
    """acl.blas.gemv_ex; not supported here: warns and answers 200001."""
def hgemm(trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int, compute_type: int, stream: int, /) -> int:
    """acl.blas.hgemm; not supported here: warns and answers 200001."""
def hgemv(trans_a: int, m: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int, compute_type: int, stream: int, /) -> int:
    """acl.blas.hgemv; not supported here: warns and answers 200001."""
def s8gemm(trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int, compute_type: int, stream: int, /) -> int:
    """acl.blas.s8gemm; not supported here: warns and answers 200001."""
def s8gemv(trans_a: int, m: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int, compute_type: int, stream: int, /) -> int:
    """acl.blas.s8gemv; not supported here: warns and answers 200001."""
