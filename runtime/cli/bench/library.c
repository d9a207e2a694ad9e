/* The operations of `npuhal bench` in a loop over the C API of a library: one line per row, "name<TAB>CPU ns per call".
   What a library has not, or refuses, is a line "name<TAB>-<TAB>reason". */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES 4096
#define PIECE 500      /* calls between two waits, which are not measured: fewer than any ring has entries */
#define RUNS 5
enum { HOST_TO_DEVICE = 1, DEVICE_TO_DEVICE = 3, HUGE_FIRST = 0, RELAXED = 2 };

typedef int (*Call)();  /* arguments are pointers and 64-bit words, and ints below 2**31 */

static void *library, *stream, *other, *event, *notify, *model, *function, *device_a, *device_b, *pinned;
static const char *failed = "";
static uint64_t arguments[8];

static Call find(const char *name) { return (Call)dlsym(library, name); }

static int told(int code, const char *name) {
    static char text[96];
    if (code) snprintf(text, sizeof text, "%s answers %d", name, code), failed = text;
    return code;
}

#define API(name, ...) (find(#name) ? told(find(#name)(__VA_ARGS__), #name) : told(-1, #name " (not there)"))

static int launch_device(void) { static Call call; if (!call) call = find("aclrtLaunchKernel");
    return call(function, 8, device_a, (size_t)64, stream); }
static int launch_host(void) { static Call call; if (!call) call = find("aclrtLaunchKernelWithHostArgs");
    return call(function, 8, stream, (void *)0, arguments, (size_t)64, (void *)0, (size_t)0); }
static int record(void) { static Call call; if (!call) call = find("aclrtRecordEvent"); return call(event, stream); }
static int record_wait(void) { static Call call; if (!call) call = find("aclrtStreamWaitEvent");
    int code = record(); return code ? code : call(other, event); }
static int notify_record(void) { static Call call; if (!call) call = find("aclrtRecordNotify"); return call(notify, stream); }
static int copy_inside(void) { static Call call; if (!call) call = find("aclrtMemcpyAsync");
    return call(device_a, (size_t)BYTES, device_b, (size_t)BYTES, DEVICE_TO_DEVICE, stream); }
static int copy_pinned(void) { static Call call; if (!call) call = find("aclrtMemcpyAsync");
    return call(device_a, (size_t)BYTES, pinned, (size_t)BYTES, HOST_TO_DEVICE, stream); }
static int replay(void) { static Call call; if (!call) call = find("aclmdlRIExecuteAsync"); return call(model, stream); }

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int upward(const void *a, const void *b) { return *(double *)a < *(double *)b ? -1 : *(double *)a > *(double *)b; }

static void row(const char *name, const char *needs, int ready, int (*call)(void), long calls) {
    double runs[RUNS];
    if (!ready || !find(needs)) {
        printf("%s\t-\t%s\n", name, ready ? needs : failed);
        return;
    }
    for (int run = -1; run < RUNS; run++) {  /* the first one warms up */
        int64_t spent = 0;
        for (long left = run < 0 ? PIECE : calls; left > 0; left -= PIECE) {
            long piece = left < PIECE ? left : PIECE;
            int code = 0;
            int64_t began = now();
            for (long n = 0; n < piece && !code; n++) code = call();
            spent += now() - began;
            if (told(code, needs) || API(aclrtSynchronizeStream, stream) || API(aclrtSynchronizeStream, other)) {
                printf("%s\t-\t%s\n", name, failed);
                return;
            }
        }
        if (run >= 0) runs[run] = (double)spent / calls;
    }
    qsort(runs, RUNS, sizeof *runs, upward);
    printf("%s\t%.1f\n", name, runs[RUNS / 2]);
}

static int load(const char *file, const char *name) {
    void *binary = NULL;
    return !API(aclrtBinaryLoadFromFile, file, (void *)0, &binary) && !API(aclrtBinaryGetFunction, binary, name, &function);
}

int main(int count, char **words) {
    if (count != 5) return 2;
    const long calls = atol(words[2]);
    setvbuf(stdout, NULL, _IOLBF, 0);  /* what was measured is told, though the library may end this process */
    library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    if (API(aclInit, (void *)0) || API(aclrtSetDevice, 0) || API(aclrtCreateStream, &stream) || API(aclrtCreateStream, &other)
        || API(aclrtMalloc, &device_a, (size_t)BYTES, HUGE_FIRST) || API(aclrtMalloc, &device_b, (size_t)BYTES, HUGE_FIRST)
        || API(aclrtMallocHost, &pinned, (size_t)BYTES)) return fprintf(stderr, "%s\n", failed), 1;
    for (int n = 0; n < 8; n++) arguments[n] = (uint64_t)(uintptr_t)device_a;
    int launches = 0;
    if (*words[3]) launches = load(words[3], words[4]);
    else failed = "no kernel was given";
    row("launch, arguments on the device", "aclrtLaunchKernel", launches, launch_device, calls);
    row("launch, 64 bytes of arguments", "aclrtLaunchKernelWithHostArgs", launches, launch_host, calls);
    int made = !API(aclrtCreateEvent, &event);
    row("event record", "aclrtRecordEvent", made, record, calls);
    row("event record and wait", "aclrtStreamWaitEvent", made, record_wait, calls / 2);
    row("notify record", "aclrtRecordNotify", !API(aclrtCreateNotify, &notify, (uint64_t)0), notify_record, calls);
    row("copy inside the device, 4 KiB", "aclrtMemcpyAsync", 1, copy_inside, calls);
    row("copy to the device, 4 KiB, pinned", "aclrtMemcpyAsync", 1, copy_pinned, calls);
    made = !API(aclmdlRICaptureBegin, stream, RELAXED) && !told(copy_inside(), "aclrtMemcpyAsync")
        && !API(aclmdlRICaptureEnd, stream, &model);
    row("graph replay", "aclmdlRIExecuteAsync", made, replay, calls / 5);
    fflush(stdout);
    _Exit(0);  /* the library goes with the process */
}
