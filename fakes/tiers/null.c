/* The calls of a launch behind null://, compiled, so that the crossing of ctypes is part of what is measured.
   A send moves the tail, the head is always the tail. Layouts: ascend_hal.h, halTaskSendInfo and halSqCqQueryInfo. */
#include <stdint.h>
#include <string.h>

#define QUEUES 65536u
#define INVALID_VALUE 3

struct send_info { uint32_t type, ts_id, sq_id; int32_t timeout; const uint8_t *sqe_addr; uint32_t sqe_num, pos; };
struct query_info { uint32_t type, ts_id, sq_id, cq_id, prop; uint32_t value[8]; };

static uint64_t sent[QUEUES], first[QUEUES];
static uint8_t reports[QUEUES];
static uint32_t depth[QUEUES], head_prop, tail_prop, report_prop;

void null_setup(uint32_t head, uint32_t tail, uint32_t report) {
    head_prop = head, tail_prop = tail, report_prop = report;
}

void null_open(uint32_t queue, uint32_t entries) {
    queue %= QUEUES;
    sent[queue] = first[queue] = reports[queue] = 0;
    depth[queue] = entries;
}

uint32_t halSqTaskSend(uint32_t device, struct send_info *info) {
    uint32_t queue = (device << 13 | info->sq_id) % QUEUES;
    if (!depth[queue]) return INVALID_VALUE;
    if (!sent[queue] && info->sqe_addr) memcpy(&first[queue], info->sqe_addr, sizeof first[queue]), reports[queue] = 1;
    sent[queue] += info->sqe_num;
    return 0;
}

uint32_t halSqCqQuery(uint32_t device, struct query_info *info) {
    uint32_t queue = (device << 13 | info->sq_id) % QUEUES;
    if (info->prop == report_prop) { info->value[0] = reports[queue], reports[queue] = 0; return 0; }
    if (!depth[queue] || (info->prop != head_prop && info->prop != tail_prop)) return INVALID_VALUE;
    info->value[0] = (uint32_t)(sent[queue] % depth[queue]);
    return 0;
}

uint32_t halMemcpySumbit(void *dma, int flag) { (void)dma; (void)flag; return 0; }
uint32_t halMemcpyWait(void *dma) { (void)dma; return 0; }
uint32_t drvMemcpy(uint64_t dst, uint64_t room, uint64_t src, uint64_t bytes) {
    (void)dst; (void)room; (void)src; (void)bytes;
    return 0;
}
uint64_t null_sent(uint32_t queue) { return sent[queue % QUEUES]; }
uint64_t null_first(uint32_t queue) { return first[queue % QUEUES]; }
