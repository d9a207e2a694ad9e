/* A program on the driver's functions: each mode prints what it found. Entries come as hexadecimal text: one that is
   reported, and one that is not. */

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int drvGetDevNum(uint32_t *), drvDeviceGetBareTgid(void), halDeviceOpen(uint32_t, void *, void *);
int halDeviceClose(uint32_t, void *), halResourceIdAlloc(uint32_t, void *, void *), halSqCqAllocate(uint32_t, void *, void *);
int halSqCqFree(uint32_t, void *), halSqTaskSend(uint32_t, void *), halSqCqQuery(uint32_t, void *);
int halCqReportRecv(uint32_t, void *), halMemAlloc(void **, uint64_t, uint64_t), halMemFree(void *);
int drvMemcpy(uint64_t, uint64_t, uint64_t, uint64_t), halMemcpyBatch(uint64_t *, uint64_t *, uint64_t *, uint64_t);
int halHostRegister(void *, uint64_t, uint32_t, uint32_t, void **), halHostUnregister(void *, uint32_t);
int halResourceIdFree(uint32_t, void *);

enum { DEVICE_MEMORY = 1 << 10, HOST_MEMORY = 2 << 10, HEAD = 1, TAIL = 2, DEPTH = 256, FULL = 14 /* NO_RESOURCES */ };
typedef struct { uint32_t type, ts, sq, cq, prop, value[8]; } query;
typedef struct { uint32_t type, ts, sq; int32_t timeout; void *entries; uint32_t count, position, rest[8]; } sending;
typedef struct { uint32_t type, ts, cq; int32_t timeout; void *entries; uint32_t room, count, stream, task, rest[8]; } receiving;
typedef struct { uint32_t sq, cq, stream; unsigned char sqe[64]; } queue;

static void check(int code, const char *what) {
    if (!code) return;
    printf("%s: %d\n", what, code);
    fflush(stdout);
    _exit(9);
}

static const char *quiet;

static void parse(const char *hex, unsigned char *sqe) {
    for (int i = 0; i < 64; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        sqe[i] = byte;
    }
}

static queue open_queue(const char *hex) {
    queue made;
    uint32_t in[32] = {0}, out[32] = {0}, asked[64] = {0};
    check(halResourceIdAlloc(0, in, out), "halResourceIdAlloc");
    made.stream = out[0];
    asked[2] = 64, asked[3] = 32, asked[4] = asked[5] = DEPTH, asked[10] = made.stream;
    memset(out, 0, sizeof out);
    check(halSqCqAllocate(0, asked, out), "halSqCqAllocate");
    made.sq = out[0], made.cq = out[1];
    parse(hex, made.sqe);
    return made;
}

static void close_queue(queue *it) {
    uint32_t gone[16] = {0, 0, it->sq, it->cq}, id[32] = {0};
    check(halSqCqFree(0, gone), "halSqCqFree");
    id[2] = it->stream;
    check(halResourceIdFree(0, id), "halResourceIdFree");
}

static uint32_t ask(const queue *it, uint32_t prop) {
    query asked = {0, 0, it->sq, 0, prop, {0}};
    check(halSqCqQuery(0, &asked), "halSqCqQuery");
    return asked.value[0];
}

static uint32_t put(const queue *it) {
    sending info = {0, 0, it->sq, 0, (void *)it->sqe, 1, 0, {0}};
    int code;
    while ((code = halSqTaskSend(0, &info)) == FULL) ask(it, HEAD);
    check(code, "halSqTaskSend");
    return info.position;
}

static void finish(const queue *it, uint32_t tail) {
    for (int turn = 0; ask(it, HEAD) != tail; turn++)
        if (turn > 20000) check(-1, "the head does not move");
}

static void open_card(void) {
    uint64_t in[8] = {0}, out[8] = {0};
    check(halDeviceOpen(0, in, out), "halDeviceOpen");
}

static void copies(void) {
    char text[64] = "from the program", back[64] = "", words[2][8] = {"one", "two"}, read[2][8] = {{0}};
    void *device = 0, *pinned = 0;
    check(halMemAlloc(&device, 4096, DEVICE_MEMORY), "halMemAlloc");
    check(halMemAlloc(&pinned, 4096, HOST_MEMORY), "halMemAlloc of host memory");
    check(drvMemcpy((uint64_t)device, 4096, (uint64_t)text, sizeof text), "drvMemcpy to the device");
    check(drvMemcpy((uint64_t)pinned, 4096, (uint64_t)device, sizeof text), "drvMemcpy to pinned memory");
    check(drvMemcpy((uint64_t)back, sizeof back, (uint64_t)device, sizeof text), "drvMemcpy from the device");
    printf("copied %s; pinned %s\n", back, (char *)pinned);
    uint64_t to[2] = {(uint64_t)device, (uint64_t)device + 8}, from[2] = {(uint64_t)words[0], (uint64_t)words[1]};
    uint64_t sizes[2] = {8, 8}, out[2] = {(uint64_t)read[0], (uint64_t)read[1]};
    check(halMemcpyBatch(to, from, sizes, 2), "halMemcpyBatch");
    check(halMemcpyBatch(out, to, sizes, 2), "halMemcpyBatch back");
    printf("batch %s %s\n", read[0], read[1]);
    size_t size = 96 << 20;
    unsigned char *large = malloc(size), *again = calloc(size, 1);
    for (size_t i = 0; i < size; i += 4093) large[i] = (unsigned char)i;
    void *room = 0;
    check(halMemAlloc(&room, size, DEVICE_MEMORY), "halMemAlloc of much");
    check(drvMemcpy((uint64_t)room, size, (uint64_t)large, size), "drvMemcpy of much");
    check(drvMemcpy((uint64_t)again, size, (uint64_t)room, size), "drvMemcpy of much back");
    printf("large %s\n", memcmp(large, again, size) ? "differs" : "equal");
    printf("bad source %d\n", drvMemcpy((uint64_t)device, 4096, 0x10000, 64) != 0);
    check(halMemFree(room), "halMemFree");
    check(halMemFree(device), "halMemFree");
    check(halMemFree(pinned), "halMemFree");
    free(large), free(again);
}

static void basic(const char *hex) {
    uint32_t cards = 0;
    check(drvGetDevNum(&cards), "drvGetDevNum");
    printf("cards %u, process %s\n", cards, drvDeviceGetBareTgid() == getpid() ? "mine" : "another");
    open_card();
    copies();
    queue it = open_queue(hex);
    uint32_t first = put(&it), second = put(&it);
    printf("position %u %u, tail %u\n", first, second, ask(&it, TAIL));
    finish(&it, 2);
    unsigned char entries[8 * 32];
    receiving got = {0, 0, it.cq, 0, entries, 8, 0, 0, 0, {0}};
    check(halCqReportRecv(0, &got), "halCqReportRecv");
    printf("head 2, reports %u\n", got.count);
    parse(quiet, it.sqe);
    for (int i = 0; i < 3 * DEPTH; i++) put(&it);
    finish(&it, (2 + 3 * DEPTH) % DEPTH);
    printf("wrapped\n");
    close_queue(&it);
    sending late = {0, 0, it.sq, 0, it.sqe, 1, 0, {0}};
    printf("send to a freed queue fails %d\n", halSqTaskSend(0, &late) != 0);
    check(halDeviceClose(0, 0), "halDeviceClose");
}

static void *stream_of_sends(void *hex) {
    queue it = open_queue(hex);
    for (int i = 1; i <= 500; i++) {
        put(&it);
        if (i % 50 == 0) finish(&it, i % DEPTH);
    }
    close_queue(&it);
    return 0;
}

static void threads(void) {
    pthread_t all[8];
    open_card();
    for (int i = 0; i < 8; i++) pthread_create(&all[i], 0, stream_of_sends, (void *)quiet);
    for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
    for (int i = 0; i < 300; i++) { /* slots of threads that have ended serve new ones */
        pthread_t one;
        pthread_create(&one, 0, (void *(*)(void *))drvGetDevNum, &(uint32_t){0});
        pthread_join(one, 0);
    }
    printf("threads done\n");
    check(halDeviceClose(0, 0), "halDeviceClose");
}

static queue shared_queue;
static volatile int heard;

static void *listen(void *unused) {
    unsigned char entry[32];
    receiving got = {0, 0, shared_queue.cq, -1, entry, 1, 0, 0, 0, {0}};
    check(halCqReportRecv(0, &got), "halCqReportRecv");
    heard = got.count;
    return unused;
}

static void waits(const char *hex, int late) {
    pthread_t listener;
    open_card();
    shared_queue = open_queue(hex);
    put(&shared_queue);
    finish(&shared_queue, 1);
    unsigned char entry[32];
    receiving first = {0, 0, shared_queue.cq, 0, entry, 1, 0, 0, 0, {0}};
    check(halCqReportRecv(0, &first), "halCqReportRecv");
    pthread_create(&listener, 0, listen, 0);
    if (late) usleep(300000); /* the listener waits already; else it begins to, perhaps, while this is under way */
    put(&shared_queue); /* nobody calls after this: the listener itself must see to it */
    pthread_join(listener, 0);
    printf("heard %d\n", heard);
    close_queue(&shared_queue);
    check(halDeviceClose(0, 0), "halDeviceClose");
}

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *wait_for_nothing(void *code) {
    unsigned char entry[32];
    receiving got = {0, 0, shared_queue.cq, -1, entry, 1, 0, 0, 0, {0}};
    *(int *)code = halCqReportRecv(0, &got);
    return 0;
}

/* One thread waits for a report, one sends and asks, when the server ends; whoever runs this ends it. */
static void loses(const char *hex) {
    pthread_t listener;
    int heard_code = 0, code = 0;
    open_card();
    open_queue(hex); /* left open: a report while the program runs */
    check(halDeviceClose(0, 0), "halDeviceClose");
    open_card();
    shared_queue = open_queue(hex);
    queue own = open_queue(quiet);
    pthread_create(&listener, 0, wait_for_nothing, &heard_code);
    sending info = {0, 0, own.sq, 0, own.sqe, 1, 0, {0}};
    query asked = {0, 0, own.sq, 0, HEAD, {0}};
    printf("works\n");
    uint64_t last = milliseconds();
    while (!(code = halSqCqQuery(0, &asked))) {
        code = halSqTaskSend(0, &info);
        if (code && code != FULL) break;
        last = milliseconds();
    }
    uint64_t main_ms = milliseconds() - last;
    pthread_join(listener, 0);
    uint64_t listener_ms = milliseconds() - last;
    printf("calls answer %d, the one that waited %d, later ones %d %d\n", code, heard_code, halSqTaskSend(0, &info), halDeviceClose(0, 0));
    printf("in time %d %d\n", main_ms < 1000, listener_ms < 1000);
}

static int child(const char *what) {
    uint32_t cards = 0;
    int code = drvGetDevNum(&cards), status = 0;
    (void)what;
    status = code ? 2 : cards == 1 ? 0 : 1;
    return status;
}

static void forks(void) {
    uint32_t cards;
    int status;
    check(drvGetDevNum(&cards), "drvGetDevNum");
    pid_t before = fork();
    if (!before) exit(child("before"));
    waitpid(before, &status, 0);
    printf("child before the open: %d\n", WEXITSTATUS(status));
    open_card();
    fflush(stdout);
    pid_t after = fork();
    if (!after) exit(child("after"));
    waitpid(after, &status, 0);
    printf("child after the open: %d\n", WEXITSTATUS(status));
    check(drvGetDevNum(&cards), "drvGetDevNum");
    check(halDeviceClose(0, 0), "halDeviceClose");
    printf("other children: %d\n", wait(&status));
}

static void leaves(const char *hex, int crash) {
    open_card();
    queue it = open_queue(hex);
    put(&it);
    if (crash) abort();
    check(halDeviceClose(0, 0), "halDeviceClose");
}

static void registered(const char *hex) {
    /* the entry copies 4096 bytes at 0x...: the caller of this program has written the addresses into it */
    open_card();
    unsigned char *page = aligned_alloc(65536, 65536);
    memset(page, 7, 65536);
    void *known = 0, *device = 0;
    check(halHostRegister(page, 65536, 0, 0, &known), "halHostRegister");
    check(halMemAlloc(&device, 4096, DEVICE_MEMORY), "halMemAlloc");
    check(drvMemcpy((uint64_t)device, 4096, (uint64_t)known, 4096), "drvMemcpy from registered memory");
    memset(page, 0, 4096);
    check(drvMemcpy((uint64_t)known + 1, 4095, (uint64_t)device, 4095), "drvMemcpy to registered memory");
    printf("registered %d %d %d\n", page[0], page[1], page[4095]);
    check(halHostUnregister(page, 0), "halHostUnregister");
    check(halMemFree(device), "halMemFree");
    (void)hex;
    check(halDeviceClose(0, 0), "halDeviceClose");
}

/* Whether a child that reads an address ends by a signal. */
static int faults(volatile unsigned char *at) {
    pid_t pid = fork();
    if (!pid) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*at != 0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status);
}

static int holds(unsigned char **blocks, const size_t *sizes, int count) {
    int wrong = 0;
    for (int i = 0; i < count; i++)
        if (blocks[i]) wrong += blocks[i][0] != (unsigned char)(i + 1) || blocks[i][sizes[i] - 1] != (unsigned char)(i + 1);
    return wrong;
}

/* Pinned memory comes and goes: small and large, at addresses that were used before, and beyond 64 MiB. */
static void pinned(void) {
    enum { BLOCKS = 60 };
    unsigned char *blocks[BLOCKS] = {0}, *gone = 0;
    size_t sizes[BLOCKS];
    int wrong = 0;
    open_card();
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            if (blocks[i]) continue;
            sizes[i] = i % 20 == 7 ? (size_t)70 << 20 : i % 9 == 4 ? (size_t)3 << 20 : 4096 * (size_t)(1 + i % 5);
            check(halMemAlloc((void **)&blocks[i], sizes[i], HOST_MEMORY), "halMemAlloc");
            blocks[i][0] = blocks[i][sizes[i] - 1] = (unsigned char)(i + 1);
        }
        wrong += holds(blocks, sizes, BLOCKS);
        for (int i = round % 2; i < BLOCKS; i += 2 + round % 2) {
            check(halMemFree(blocks[i]), "halMemFree");
            gone = blocks[i];
            blocks[i] = 0;
        }
        wrong += holds(blocks, sizes, BLOCKS);
        printf("%d", faults(gone));
    }
    printf(" live %d wrong %d\n", faults(blocks[0] ? blocks[0] : blocks[1]), wrong);
}

int main(int count, char **words) {
    const char *mode = words[1], *hex = count > 2 ? words[2] : "";
    quiet = count > 3 ? words[3] : hex;
    setvbuf(stdout, 0, _IOLBF, 0);
    if (!strcmp(mode, "basic")) basic(hex);
    if (!strcmp(mode, "threads")) threads();
    if (!strcmp(mode, "waits")) waits(hex, 0);
    if (!strcmp(mode, "waits late")) waits(hex, 1);
    if (!strcmp(mode, "forks")) forks();
    if (!strcmp(mode, "leaves")) leaves(hex, 0);
    if (!strcmp(mode, "crashes")) leaves(hex, 1);
    if (!strcmp(mode, "loses")) loses(hex);
    if (!strcmp(mode, "registered")) registered(hex);
    if (!strcmp(mode, "pinned")) pinned();
    return 0;
}
