/* libascendcl.so: calls go to Python. The first one finds the interpreter of the process, or starts one.

   An interpreter that was started here leaves signals alone and is never ended: destructors of a program may call late.
   What runs at its end (reports, exit functions) runs in a destructor of this library. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifndef SHIM_START
#define SHIM_START "" /* Python text that runs at the first call */
#endif

#ifdef SHIM_BEFORE
void SHIM_BEFORE(void); /* what is done before the first call */
#endif

typedef int64_t (*bridge)(uint32_t function, uint64_t *args);

enum { THE_END = UINT32_MAX, UNINITIALIZED = 100001 };

static bridge call;
static int own; /* the interpreter was started here */
static pthread_once_t first = PTHREAD_ONCE_INIT;
static pthread_key_t leaving;
static pid_t home;
static __thread int attached;

static struct {
    int (*initialized)(void);
    int (*ensure)(void);
    void (*release)(int);
    void *(*state)(void);
    void *(*save)(void);
    int (*run)(const char *);
} python;

static void give_up(const char *why, const char *detail) __attribute__((noreturn));
static void give_up(const char *why, const char *detail) {
    fprintf(stderr, "npuhal: libascendcl.so cannot start: %s%s%s\n", why, detail ? ": " : "", detail ? detail : "");
    abort();
}

static int find(void) {
#define FIND(member, name) ((*(void **)&python.member = dlsym(RTLD_DEFAULT, name)) != 0)
    return FIND(initialized, "Py_IsInitialized") && FIND(ensure, "PyGILState_Ensure") && FIND(release, "PyGILState_Release")
        && FIND(state, "PyGILState_GetThisThreadState") && FIND(save, "PyEval_SaveThread") && FIND(run, "PyRun_SimpleString");
#undef FIND
}

/* A thread keeps its Python state while it lives: what the runtime knows of it (device, context, errors) is there. */
static void thread_ends(void *held) {
    if (python.initialized()) python.release(python.ensure());
    (void)held;
}

static void attach(void) {
    attached = 1;
    if (python.state()) return; /* a thread of Python's own */
    python.ensure();
    python.save();
    pthread_setspecific(leaving, &leaving);
}

static void start_interpreter(void) {
    void *library = dlopen(SHIM_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
    if (!library) give_up("libpython is not there (write the library again by `npuhal shim runtime`)", dlerror());
    if (!find()) give_up(SHIM_LIBPYTHON, "not a libpython");
    void (*name)(const wchar_t *), (*initialize)(int);
    int *ignore = dlsym(library, "Py_IgnoreEnvironmentFlag");
    if (ignore) *ignore = 1; /* PYTHONHOME and PYTHONPATH are the program's, perhaps for another version */
    if ((*(void **)&name = dlsym(library, "Py_SetProgramName")) != 0) name(SHIM_PYTHON);
    *(void **)&initialize = dlsym(library, "Py_InitializeEx");
    initialize(0);
    own = 1;
}

static void begin(void) {
#ifdef SHIM_BEFORE
    SHIM_BEFORE();
#endif
    char code[sizeof SHIM_PATHS + 512];
    int state = 0;
    pthread_key_create(&leaving, thread_ends);
    home = getpid();
    if (!find() || !python.initialized()) start_interpreter();
    else state = python.ensure();
    snprintf(code, sizeof code,
             "import sys\n"
             "sys.path += [path for path in %s if path not in sys.path]\n"
             "import runtime.capi.shim.bridge as bridge\n"
             "bridge.start(%llu, %s)\n" SHIM_START, SHIM_PATHS, (unsigned long long)(uintptr_t)&call, own ? "True" : "False");
    if (python.run(code) || !call) give_up("npuhal cannot be imported, see above", 0);
    if (own) {
        python.save();
        attached = 1;
    } else {
        python.release(state);
    }
}

int64_t npuhal_acl_call(uint32_t function, uint64_t *args) {
    pthread_once(&first, begin);
    if (!python.initialized()) return UNINITIALIZED; /* destructors that run after the interpreter's end */
    if (!attached) attach();
    return call(function, args);
}

__attribute__((destructor)) static void end(void) {
    if (!call || !own || getpid() != home) return;
    int64_t status = npuhal_acl_call(THE_END, 0);
    if (status) {
        fflush(NULL);
        _exit((int)status);
    }
}
