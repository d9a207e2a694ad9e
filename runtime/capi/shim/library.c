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

#include "interpreter.h"
#include "library.h"

#ifndef SHIM_START
#define SHIM_START "" /* Python text that runs at the first call */
#endif

#ifdef SHIM_BEFORE
void SHIM_BEFORE(void); /* what is done before the first call */
#endif

#define python npuhal_python

enum { THE_END = UINT32_MAX, UNINITIALIZED = 100001, TRIES = 100 };

interpreter npuhal_python;
static object *call; /* `call` of the bridge */
static int own; /* the interpreter was started here */
static pthread_once_t first = PTHREAD_ONCE_INIT;
static pthread_key_t leaving;
static pid_t home;
static __thread int attached;

static void give_up(const char *why, const char *detail) __attribute__((noreturn));
static void give_up(const char *why, const char *detail) {
    fprintf(stderr, "npuhal: libascendcl.so cannot start: %s%s%s\n", why, detail ? ": " : "", detail ? detail : "");
    abort();
}

static int find(void) {
    int all = 1;
#define VALUE(name) all &= (*(void **)&python.name = dlsym(RTLD_DEFAULT, #name)) != 0;
#define FUNCTION(result, name, takes) VALUE(name)
    INTERPRETER(FUNCTION)
    VALUE(PyExc_Exception)
#undef FUNCTION
#undef VALUE
    return all;
}

/* A thread keeps its Python state while it lives: what the runtime knows of it (device, context, errors) is there. */
static void thread_ends(void *held) {
    if (python.Py_IsInitialized()) python.PyGILState_Release(python.PyGILState_Ensure());
    (void)held;
}

static void attach(void) {
    attached = 1;
    if (python.PyGILState_GetThisThreadState()) return; /* a thread of Python's own */
    python.PyGILState_Ensure();
    python.PyEval_SaveThread();
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
    if (!find() || !python.Py_IsInitialized()) start_interpreter();
    else state = python.PyGILState_Ensure();
    if (!own) npuhal_interrupts_begin();
    int noted = npuhal_call_begins(START);
    snprintf(code, sizeof code,
             "import sys\n"
             "sys.path += [path for path in %s if path not in sys.path]\n"
             "import runtime.capi.shim.bridge as bridge\n"
             "bridge.start(%llu, %s)\n" SHIM_START, SHIM_PATHS, (unsigned long long)(uintptr_t)&call, own ? "True" : "False");
    if (python.PyRun_SimpleString(code) || !call) give_up("npuhal cannot be imported, see above", 0);
    python.Py_IncRef(call);
    if (noted) npuhal_call_ends();
    if (own) {
        python.PyEval_SaveThread();
        attached = 1;
    } else {
        python.PyGILState_Release(state);
    }
}

/* Make a call. The bridge writes what it answers into a list: first, when the call is about to begin, what it answers if
   it is broken off, then what it does answer. With nothing in the list nothing was done, and it is made again: what
   another thread sets, or a signal handler raises, can strike before the bridge's first line. A wait is not begun then. */
static int64_t carry(uint32_t function, uint64_t *args, int64_t failed, npuhal_kind kind) {
    object *problem = 0;
    int written = 0;
    for (int left = TRIES; left && !written && !(kind == WAIT && (problem || npuhal_interrupted())); left--) {
        object *answers = python.PyList_New(0), *number = python.PyLong_FromUnsignedLongLong(function);
        object *words = python.PyLong_FromUnsignedLongLong((uintptr_t)args);
        object *done = python.PyObject_CallFunctionObjArgs(call, number, words, answers, NULL);
        written = (int)python.PyList_Size(answers);
        if (written) failed = (int64_t)python.PyLong_AsUnsignedLongLongMask(python.PyList_GetItem(answers, written - 1));
        if (!done) {
            python.Py_DecRef(problem);
            problem = npuhal_fetch();
            if (python.PyErr_GivenExceptionMatches(problem, *python.PyExc_Exception) && left > 2) left = 2; /* a mistake? */
        }
        python.Py_DecRef(number);
        python.Py_DecRef(words);
        python.Py_DecRef(answers);
        python.Py_DecRef(done);
    }
    if (problem) npuhal_raise_behind(problem);
    python.Py_DecRef(problem);
    return failed;
}

static int64_t make(uint32_t function, uint64_t *args, int64_t failed, npuhal_kind kind) {
    pthread_once(&first, begin);
    if (!python.Py_IsInitialized()) return failed == FAILED ? UNINITIALIZED : failed; /* in a destructor behind its end */
    if (!attached) attach();
    int state = python.PyGILState_Ensure();
    object *type, *value, *trace;
    python.PyErr_Fetch(&type, &value, &trace); /* the caller's, who may be cleaning up */
    int noted = npuhal_call_begins(kind);
    int64_t answer = carry(function, args, failed, kind);
    if (noted) npuhal_call_ends();
    python.PyErr_Restore(type, value, trace);
    python.PyGILState_Release(state);
    return answer;
}

int64_t npuhal_acl_call(uint32_t function, uint64_t *args, int64_t failed) { return make(function, args, failed, CALL); }
int64_t npuhal_acl_wait(uint32_t function, uint64_t *args, int64_t failed) { return make(function, args, failed, WAIT); }

__attribute__((destructor)) static void end(void) {
    if (!call || !own || getpid() != home) return;
    int64_t status = npuhal_acl_call(THE_END, 0, 0);
    if (status) {
        fflush(NULL);
        _exit((int)status);
    }
}
