"""Prepared DMA: address chains, asynchronous copies for SQEs, UB jetties and work-queue entries."""

TABLE = """
from ascend_hal_base.h
halAsyncDmaCreate(devId: u32, in: halAsyncDmaInputPara*, out: out halAsyncDmaOutputPara*) -> drvError_t
halAsyncDmaDestory(devId: u32, para: halAsyncDmaDestoryPara*) -> drvError_t
halAsyncDmaWqeCreate(devId: u32, in: halAsyncDmaInputPara*, out: out halAsyncDmaOutputPara*) -> drvError_t
halAsyncDmaWqeDestory(devId: u32, para: halAsyncDmaDestoryPara*) -> drvError_t
halAsyncDmaCreate2D(devId: u32, in: halAsyncDmaInput2DPara*, out: out halAsyncDmaOutputPara*) -> drvError_t
halAsyncDmaDestroy2D(devId: u32, para: halAsyncDmaDestroy2DPara*) -> drvError_t
halAsyncDmaCreateBatch(devId: u32, in: halAsyncDmaInputBatchPara*, out: out halAsyncDmaOutputPara*) -> drvError_t
halAsyncDmaDestroyBatch(devId: u32, para: halAsyncDmaDestroyBatchPara*) -> drvError_t
halAsyncDmaJettyCreate(devId: u32, in: halAsyncDmaJettyCreateIn*, out: out halAsyncDmaJettyCreateOut*) -> drvError_t
halAsyncDmaJettyDestroy(devId: u32, para: halAsyncJettyDestroyPara*) -> drvError_t
halAsyncDmaJettyQuery(devId: u32, in: halAsyncDmaJettyQueryIn*, out: out halAsyncDmaJettyQueryOut*) -> drvError_t
halAsyncDmaWqeConvert(devId: u32, in: halAsyncDmaWqeInputPara*, out: out halAsyncDmaWqeOutputPara*) -> drvError_t
halAsyncDmaJettyWqeFill(devId: u32, para: halAsyncDmaJettyFillInfo*) -> drvError_t
halMemcpySumbit(dma_addr: DMA_ADDR*, flag: i32) -> drvError_t
halMemcpyWait(dma_addr: DMA_ADDR*) -> drvError_t
drvMemConvertAddr(p_src: u64, p_dst: u64, len: u32, dma_addr: out DMA_ADDR*) -> drvError_t
drvMemDestroyAddr(ptr: DMA_ADDR*) -> drvError_t
halMemDestroyAddrBatch(ptr: DMA_ADDR**, num: u32) -> drvError_t

from ascend_hal_define.h
struct drv_sqe_update_info { sq_id: u32, sqe_pos: u32 }
struct halAsyncDmaInputPara {
    type: drvSqCqType_t, tsId: u32, sqId: u32, dir: u32, len: u32, async_dma_type: drv_async_dma_type, src: u8*,
    union { dst: u8*, info: drv_sqe_update_info }, rsv: u32[8]
}
struct halAsyncDmaOutputPara {
    union {
        struct {
            dieId: u32, functionId: u32, jettyId: u32, size: u32, wqe: u8*, pi: u32,
            union { fixedSize: u64, fixedCnt: u64 }
        },
        dma_addr: DMA_ADDR
    },
    rsv: u32[8]
}
struct halAsyncDmaDestoryPara {
    type: drvSqCqType_t, tsId: u32, sqId: u32, union { struct { size: u32, wqe: u8* }, dma_addr: DMA_ADDR* },
    rsv: u32[8]
}
struct halAsyncDmaInput2DPara {
    type: drvSqCqType_t, tsId: u32, sqId: u32, dir: u32, dst: u64*, dpitch: u64, src: u64*, spitch: u64, width: u64,
    height: u64, fixedSize: u64, rsv: u32[8]
}
struct halAsyncDmaDestroy2DPara { type: drvSqCqType_t, tsId: u32, sqId: u32, ci: u32, rsv: u32[8] }
struct halAsyncDmaInputBatchPara {
    type: drvSqCqType_t, tsId: u32, sqId: u32, dir: u32, dst: u64*, src: u64*, len: u64*, count: u64, rsv: u32[8]
}
struct halAsyncDmaDestroyBatchPara { type: drvSqCqType_t, tsId: u32, sqId: u32, ci: u32, rsv: u32[8] }
struct halAsyncDmaJettyCreateIn {
    jettyType: drvAsyncDmaJettyType_t, piMode: drvAsyncDmaJettyPiMode_t, dir: drvAsyncDmaJettyDir_t, depth: u32,
    rsv: u32[16]
}
struct halAsyncJettyHandle { handle: char[48], rsv: u32[8] }
struct halAsyncDmaJettyCreateOut { jettyHandle: halAsyncJettyHandle*, rsv: u32[16] }
struct halAsyncJettyDestroyPara { jettyHandle: halAsyncJettyHandle*, rsv: u32[16] }
struct halAsyncDmaJettyQueryIn { jettyHandle: halAsyncJettyHandle*, rsv: u32[16] }
struct halAsyncDmaJettyQueryOut { dieId: u32, funcId: u32, jettyId: u32, rsv: u32[16] }
struct drv2dWqeInputPara { dst: u64*, dpitch: u64, src: u64*, spitch: u64, width: u64, height: u64, fixedSize: u64 }
struct drvBatchWqeInputPara { dst: u64*, src: u64*, len: u64*, count: u64 }
struct drvNopWqeInputPara { nopCnt: u64 }
struct drvNormalWqeInputPara {
    asyncDmaType: drvAsyncDmaType_t, len: u64, src: u8*, union { dst: u8*, info: drv_sqe_update_info }
}
struct halAsyncDmaWqeInputPara {
    wqeType: drvAsyncDmaType_t, wqeBuffer: u8*, wqeBufferLen: u64,
    union {
        normal: drvNormalWqeInputPara, batch: drvBatchWqeInputPara, matrix2d: drv2dWqeInputPara,
        nop: drvNopWqeInputPara
    },
    rsv: u32[16]
}
struct halAsyncDmaWqeOutputPara { wqeCnt: u32, fixedCnt: u64, fixedSize: u64, rsv: u32[16] }
struct halAsyncDmaJettyFillInfo {
    jettyHandle: halAsyncJettyHandle*, offset: u64, srcWqe: u8*, size: u64, rsv: u32[16]
}

enum drv_async_dma_type drvAsyncDmaType_t {
    DRV_ASYNC_DMA_TYPE_NORMAL, DRV_ASYNC_DMA_TYPE_SQE_UPDATE, DRV_ASYNC_DMA_TYPE_2D, DRV_ASYNC_DMA_TYPE_BATCH,
    DRV_ASYNC_DMA_TYPE_NOP, DRV_ASYNC_DMA_TYPE_MAX
}
enum tagDrvAsyncDmaJettyType drvAsyncDmaJettyType_t {
    DRV_ASYNC_DMA_JETTY_TYPE_CACHE_LOCK_DWQE, DRV_ASYNC_DMA_JETTY_TYPE_NORMAL, DRV_ASYNC_DMA_JETTY_TYPE_MAX
}
enum tagDrvAsyncDmaJettyPiMode drvAsyncDmaJettyPiMode_t {
    DRV_ASYNC_DMA_JETTY_PI_MODE_ABSOLUTE, DRV_ASYNC_DMA_JETTY_PI_MODE_RELATIVELY, DRV_ASYNC_DMA_JETTY_PI_MODE_MAX
}
enum tagDrvAsyncDmaDir drvAsyncDmaDir_t {
    TRS_ASYNC_HOST_TO_DEVICE, TRS_ASYNC_DEVICE_TO_HOST, TRS_ASYNC_DEVICE_TO_DEVICE = 6, TRS_ASYNC_MAX_DIR
}
enum tagDrvAsyncJettyDmaDir drvAsyncDmaJettyDir_t {
    TRS_ASYNC_JETTY_HOST_DEVICE, TRS_ASYNC_JETTY_DEVICE_TO_DEVICE, TRS_ASYNC_JETTY_MAX_DIR
}

from ascend_hal*.h
macros {
    ASYNC_RSV_LENGTH = 8, TRS_ASYNC_CPY_2D_DESTROY_RSV_LEN = 8, TRS_ASYNC_CPY_2D_IN_RSV_LEN = 8,
    TRS_ASYNC_CPY_BATCH_DESTROY_RSV_LEN = 8, TRS_ASYNC_CPY_BATCH_IN_RSV_LEN = 8,
    TRS_ASYNC_DMA_JETTY_DESTROY_RSV_LEN = 16, TRS_ASYNC_DMA_JETTY_HANDLE_LEN = 48,
    TRS_ASYNC_DMA_JETTY_HANDLE_RSV_LEN = 8, TRS_ASYNC_DMA_JETTY_INPUT_RSV_LEN = 16,
    TRS_ASYNC_DMA_JETTY_OUTPUT_RSV_LEN = 16, TRS_ASYNC_DMA_JETTY_QUERY_IN_RSV_LEN = 16,
    TRS_ASYNC_DMA_JETTY_QUERY_OUT_RSV_LEN = 16, TRS_ASYNC_DMA_JETTY_WQE_FILL_RSV_LEN = 16,
    TRS_ASYNC_DMA_WQE_CONVERT_IN_RSV_LEN = 16, TRS_ASYNC_DMA_WQE_CONVERT_OUT_RSV_LEN = 16
}

from ascend_hal_define.h
struct halAsyncDmaInputBatchPara @7.36.25 {
    type: drvSqCqType_t, tsId: u32, sqId: u32, dir: u32, dst: u64*, src: u64*, len: u64*, count: u64, fixedCnt: u64,
    rsv: u32[8]
}
"""
