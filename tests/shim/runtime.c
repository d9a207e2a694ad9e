/* A program on the C API: each mode prints what it found. */

#include <acl/acl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call) check((call), #call)

static void check(aclError code, const char *what) {
    if (!code) return;
    const char *message = aclGetRecentErrMsg();
    printf("%s: %d %s\n", what, code, message ? message : "");
    fflush(stdout);
    _exit(9);
}

static void *device_memory(size_t size) {
    void *made = NULL;
    CHECK(aclrtMalloc(&made, size, ACL_MEM_MALLOC_NORMAL_ONLY));
    return made;
}

static aclrtStream stream(void) {
    aclrtStream made = NULL;
    CHECK(aclrtCreateStream(&made));
    return made;
}

static void copies(void) {
    uint32_t cards = 0;
    CHECK(aclrtGetDeviceCount(&cards));
    printf("%u cards of %s\n", cards, aclrtGetSocName());
    char text[32] = "from the program", back[32] = "";
    void *device = device_memory(4096), *host = NULL;
    CHECK(aclrtMallocHost(&host, 4096));
    CHECK(aclrtMemcpy(device, 4096, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE));
    aclrtStream queue = stream();
    CHECK(aclrtMemcpyAsync(host, 4096, device, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST, queue));
    CHECK(aclrtSynchronizeStream(queue));
    CHECK(aclrtMemcpy(back, sizeof back, device, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("%s, %s\n", back, (char *)host);
    size_t free = 0, total = 0;
    CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    printf("memory %d\n", free && free <= total);
    CHECK(aclrtFreeHost(host));
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyStream(queue));
    printf("freed twice: %d\n", aclrtFree(device) != 0);
    aclGetRecentErrMsg();
    aclError code = aclrtSetDevice(99);
    const char *message = aclGetRecentErrMsg(), *name = aclrtGetSocName();
    printf("%d: %.30s; the name %s\n", code, message ? message : "", name == aclrtGetSocName() ? "stays" : "moves");
}

static void events(void) {
    aclrtStream one = stream(), two = stream();
    aclrtEvent start, end;
    float ms = -1;
    CHECK(aclrtCreateEventWithFlag(&start, ACL_EVENT_TIME_LINE));
    CHECK(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC));
    CHECK(aclrtRecordEvent(start, one));
    CHECK(aclrtRecordEvent(end, one));
    CHECK(aclrtStreamWaitEvent(two, end));
    CHECK(aclrtSynchronizeStream(two));
    CHECK(aclrtSynchronizeEvent(end));
    aclrtEventRecordedStatus status;
    CHECK(aclrtQueryEventStatus(end, &status));
    CHECK(aclrtEventElapsedTime(&ms, start, end));
    printf("recorded %d, time %d\n", status == ACL_EVENT_RECORDED_STATUS_COMPLETE, ms >= 0 && ms < 1000);
    CHECK(aclrtDestroyEvent(start));
    CHECK(aclrtDestroyEvent(end));
}

static void launch(aclrtFuncHandle function, aclrtStream queue, void *x, void *y, void *z) {
    void *arguments[3] = {x, y, z};
    CHECK(aclrtLaunchKernelWithHostArgs(function, 4, queue, NULL, arguments, sizeof arguments, NULL, 0));
}

static void kernel(const char *file) {
    aclrtBinHandle binary;
    aclrtFuncHandle function;
    CHECK(aclrtBinaryLoadFromFile(file, NULL, &binary));
    CHECK(aclrtBinaryGetFunction(binary, "add_custom", &function));
    float x[256], y[256], z[256] = {0};
    for (int i = 0; i < 256; i++) x[i] = (float)i, y[i] = 0.5f;
    void *a = device_memory(sizeof x), *b = device_memory(sizeof y), *c = device_memory(sizeof z);
    CHECK(aclrtMemcpy(a, sizeof x, x, sizeof x, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(b, sizeof y, y, sizeof y, ACL_MEMCPY_HOST_TO_DEVICE));
    aclrtStream queue = stream();
    launch(function, queue, a, b, c);
    CHECK(aclrtSynchronizeStream(queue));
    CHECK(aclrtMemcpy(z, sizeof z, c, sizeof z, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("sum %.1f %.1f\n", z[0], z[255]);
    CHECK(aclrtBinaryUnLoad(binary));
}

static int called;
static pthread_t caller;

static void host_function(void *argument) {
    caller = pthread_self();
    called += *(int *)argument;
}

static void *reports(void *running) {
    while (*(volatile int *)running) aclrtProcessReport(50);
    return NULL;
}

static void host_functions(void) {
    int two = 2, five = 5;
    volatile int running = 1;
    aclrtStream queue = stream(), other = stream();
    CHECK(aclrtLaunchHostFunc(queue, host_function, &two));
    CHECK(aclrtSynchronizeStream(queue));
    printf("called %d in %s thread\n", called, pthread_equal(caller, pthread_self()) ? "this" : "another");
    pthread_t worker;
    pthread_create(&worker, NULL, reports, (void *)&running);
    CHECK(aclrtSubscribeReport((uint64_t)worker, other));
    CHECK(aclrtLaunchCallback(host_function, &five, ACL_CALLBACK_BLOCK, other));
    CHECK(aclrtSynchronizeStream(other));
    printf("called %d in %s thread\n", called, pthread_equal(caller, worker) ? "the subscribed" : "a wrong");
    CHECK(aclrtUnSubscribeReport((uint64_t)worker, other));
    running = 0;
    pthread_join(worker, NULL);
}

static void graphs(void) {
    aclrtStream queue = stream();
    aclmdlRI model;
    void *from = device_memory(64), *to = device_memory(64);
    char back[64];
    CHECK(aclmdlRICaptureBegin(queue, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK(aclrtMemcpyAsync(to, 64, from, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, queue));
    aclmdlRICaptureStatus status;
    CHECK(aclmdlRICaptureGetInfo(queue, &status, &model));
    CHECK(aclmdlRICaptureEnd(queue, &model));
    for (char letter = 'a'; letter < 'd'; letter++) {
        CHECK(aclrtMemset(from, 64, letter, 64));
        CHECK(aclmdlRIExecuteAsync(model, queue));
        CHECK(aclrtSynchronizeStream(queue));
        CHECK(aclrtMemcpy(back, 64, to, 64, ACL_MEMCPY_DEVICE_TO_HOST));
        printf("%c", back[63]);
    }
    aclrtStream streams[4] = {NULL};
    uint32_t count = 0;
    CHECK(aclmdlRIGetStreams(model, NULL, &count));
    uint32_t wanted = count;
    CHECK(aclmdlRIGetStreams(model, streams, &wanted));
    printf(" %d", count && wanted == count && streams[0] && streams[count - 1]);
    CHECK(aclmdlRIDestroy(model));
    printf(" replayed, status %d\n", status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
}

static void share(const char *self) {
    char key[80] = "", text[32] = "from another process";
    void *memory = device_memory(2 << 20);
    CHECK(aclrtMemcpy(memory, sizeof text, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtIpcMemGetExportKey(memory, 2 << 20, key, 65, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    fflush(stdout);
    pid_t child = vfork();
    if (!child) {
        execl(self, self, "import", key, (char *)NULL);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(aclrtMemcpy(text, sizeof text, memory, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("child %d, back: %s\n", WEXITSTATUS(status), text);
    CHECK(aclrtIpcMemClose(key));
}

static void import(const char *key) {
    char text[32] = "", answer[32] = "answer of the child";
    void *memory = NULL;
    CHECK(aclrtIpcMemImportByKey(&memory, key, ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT));
    CHECK(aclrtMemcpy(text, sizeof text, memory, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(aclrtMemcpy(memory, sizeof answer, answer, sizeof answer, ACL_MEMCPY_HOST_TO_DEVICE));
    printf("child sees: %s\n", text);
    CHECK(aclrtIpcMemClose(key));
}

static volatile int told;

static void failure(aclrtExceptionInfo *info) {
    told = aclrtGetDeviceIdFromExceptionInfo(info) == 0 && aclrtGetErrorCodeFromExceptionInfo(info) > 500000 ? 1 : 2;
}

static void exceptions(const char *file) {
    aclrtBinHandle binary;
    aclrtFuncHandle function;
    CHECK(aclrtSetExceptionInfoCallback(failure));
    CHECK(aclrtBinaryLoadFromFile(file, NULL, &binary));
    CHECK(aclrtBinaryGetFunction(binary, "add_custom", &function));
    aclrtStream queue = stream();
    void *memory = device_memory(64);
    launch(function, queue, memory, memory, memory);
    aclError code = aclrtSynchronizeStream(queue);
    printf("fault %d, told %d, no info %u\n", code > 500000, told, aclrtGetTaskIdFromExceptionInfo(NULL));
    CHECK(aclrtSetExceptionInfoCallback(NULL));
}

static void mistake(void) {
    aclrtStream one = stream(), two = stream();
    void *from = device_memory(4096), *to = device_memory(4096);
    CHECK(aclrtMemsetAsync(to, 4096, 1, 4096, one));
    CHECK(aclrtMemcpyAsync(to, 4096, from, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE, two)); /* nothing orders the two */
    CHECK(aclrtSynchronizeStream(one));
    CHECK(aclrtSynchronizeStream(two));
}

static void *work(void *number) {
    CHECK(aclrtSetDevice(0));
    aclrtContext before, after;
    CHECK(aclrtGetCurrentContext(&before));
    aclrtStream queue = stream();
    unsigned char data[256], back[256];
    for (int turn = 0; turn < 20; turn++) {
        void *memory = device_memory(256);
        memset(data, (int)(long)number + turn, sizeof data);
        CHECK(aclrtMemcpyAsync(memory, 256, data, 256, ACL_MEMCPY_HOST_TO_DEVICE, queue));
        CHECK(aclrtSynchronizeStream(queue));
        CHECK(aclrtMemcpy(back, 256, memory, 256, ACL_MEMCPY_DEVICE_TO_HOST));
        if (memcmp(data, back, 256)) check(-1, "another thread's data");
        CHECK(aclrtFree(memory));
    }
    CHECK(aclrtDestroyStream(queue));
    CHECK(aclrtGetCurrentContext(&after));
    CHECK(aclrtResetDevice(0));
    return before == after ? number : NULL;
}

static void threads(void) {
    pthread_t all[8];
    int good = 0;
    for (long i = 1; i <= 8; i++) pthread_create(&all[i - 1], NULL, work, (void *)i);
    for (long i = 1; i <= 8; i++) {
        void *result;
        pthread_join(all[i - 1], &result);
        good += result == (void *)i;
    }
    printf("threads %d\n", good);
}

int main(int count, char **words) {
    const char *mode = words[1], *word = count > 2 ? words[2] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    if (!strcmp(mode, "all")) copies(), events(), host_functions(), graphs(), threads();
    if (!strcmp(mode, "kernel")) kernel(word);
    if (!strcmp(mode, "share")) share(words[0]);
    if (!strcmp(mode, "import")) import(word);
    if (!strcmp(mode, "exception")) exceptions(word);
    if (!strcmp(mode, "mistake")) mistake();
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
