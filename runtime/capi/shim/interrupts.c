/* Signal handlers of a Python program run behind a call of this library, as behind one of any C library.

   Python runs them in its main thread between any two steps of Python code, so in the middle of ours: what was done of
   the call would be anybody's guess. Here Python's own C handler, which asks for that, has another one in front of it,
   which calls it when the call is over; in a wait at once. What is raised in a call all the same ends the call, and is
   raised in the program behind it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "interpreter.h"

#define python npuhal_python
#define WAIT_NS 500000000LL /* a call that lasts longer is a wait, too: others are shorter, on a busy machine as well */
#define LOOK_NS 10000000LL  /* how often somebody looks for other handlers that the program has set, or for the same ones set again */

static const int SIGNALS[] = {SIGINT, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT};
enum { COUNT = sizeof SIGNALS / sizeof *SIGNALS, OFTEN = 4 }; /* the first of them are looked at in each call */

static object *get_handler; /* of the module `_signal` */
static object *raised;      /* a list: what is still to be raised in the program */
static object *numbers[COUNT], *seen[OFTEN];
static struct sigaction handlers[COUNT]; /* Python's */
static atomic_int came;                  /* 1 << the place of each signal whose handler is to be called */
static atomic_llong held_until;          /* 0: signals are not held */
static int in_call;                      /* the main thread: how deep */
static int64_t looked;                   /* when */
static __thread int known;               /* whether this is the main thread: 1 or -1; 0: unknown */

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Python's main thread is that of the process. */
static int is_main(void) {
    if (!known) known = getpid() == gettid() ? 1 : -1;
    return known > 0;
}

static void after_fork(void) {
    if (!is_main()) in_call = 0, atomic_store(&held_until, 0); /* the thread that was in a call is not there any more */
    known = 1;
}

static void call_handlers(void) {
    int places = atomic_exchange(&came, 0);
    for (int at = 0; at < COUNT; at++)
        if (places >> at & 1) handlers[at].sa_handler(SIGNALS[at]);
}

/* In the context of a signal, in any thread. */
static void hold(int number) {
    int error = errno, at = 0;
    while (SIGNALS[at] != number) at++;
    atomic_fetch_or(&came, 1 << at); /* first: the end of a call looks for it when signals are no longer held */
    if (now() >= atomic_load(&held_until)) call_handlers();
    errno = error;
}

/* Whether a function is one of the interpreter; other libraries' handlers are left alone. */
static int is_pythons(void (*handler)(int)) {
    Dl_info its, ours;
    return dladdr(*(void **)&handler, &its) && dladdr(*(void **)&python.PyErr_Fetch, &ours) && its.dli_fbase == ours.dli_fbase;
}

static object *handler_of(int at) { return python.PyObject_CallFunctionObjArgs(get_handler, numbers[at], NULL); }

/* Stand in front of handlers that the program has set. */
static void look(int64_t time) {
    int others = time >= looked + LOOK_NS;
    for (int at = 0; at < OFTEN; at++) {
        object *handler = handler_of(at);
        others |= handler != seen[at];
        python.Py_DecRef(seen[at]);
        seen[at] = handler;
    }
    if (!others) return;
    looked = time;
    for (int at = 0; at < COUNT; at++) {
        struct sigaction action;
        sigaction(SIGNALS[at], 0, &action);
        if (action.sa_flags & SA_SIGINFO || !is_pythons(action.sa_handler)) continue;
        object *handler = handler_of(at);
        if (handler && python.PyCallable_Check(handler)) {
            handlers[at] = action;
            action.sa_handler = hold;
            sigaction(SIGNALS[at], &action, 0);
        }
        python.Py_DecRef(handler);
    }
}

object *npuhal_fetch(void) {
    object *kind, *value, *trace;
    python.PyErr_Fetch(&kind, &value, &trace);
    if (!kind) return 0;
    python.PyErr_NormalizeException(&kind, &value, &trace);
    if (trace) python.PyException_SetTraceback(value, trace);
    python.Py_DecRef(kind);
    python.Py_DecRef(trace);
    return value;
}

static void set(object *problem) {
    python.Py_IncRef(problem);
    python.PyErr_Restore(python.PyObject_Type(problem), problem, python.PyException_GetTraceback(problem));
}

int npuhal_interrupted(void) { return raised && is_main() && python.PyList_Size(raised) > 0; }

/* Python calls it in its main thread when it has asked for it, between two steps. */
static int raise_next(void *nothing) {
    (void)nothing;
    if (in_call || !npuhal_interrupted()) return 0; /* the end of the call asks again */
    object *problem = python.PyList_GetItem(raised, 0);
    python.Py_IncRef(problem);
    python.PySequence_DelItem(raised, 0);
    if (npuhal_interrupted()) python.Py_AddPendingCall(raise_next, 0);
    set(problem);
    python.Py_DecRef(problem);
    return -1;
}

void npuhal_raise_behind(object *problem) {
    if (raised && is_main()) {
        python.PyList_Append(raised, problem);
    } else if (python.PyEval_GetFrame() && !python.PyErr_GivenExceptionMatches(problem, *python.PyExc_Exception)) {
        object *kind = python.PyObject_Type(problem); /* another thread has set it, and it was no more than a type */
        python.PyThreadState_SetAsyncExc((unsigned long)pthread_self(), kind);
        python.Py_DecRef(kind);
    } else { /* there is no Python code behind the call, or it is a mistake of ours */
        set(problem);
        python.PyErr_WriteUnraisable(0);
    }
}

int npuhal_call_begins(npuhal_kind kind) {
    if (!raised || !is_main()) return 0;
    if (in_call++) return 1;
    int64_t time = now();
    look(time);
    atomic_store(&held_until, kind == START ? INT64_MAX : kind == WAIT ? 0 : time + WAIT_NS);
    if (python.PyErr_CheckSignals()) { /* of what came before the call */
        object *problem = npuhal_fetch();
        npuhal_raise_behind(problem);
        python.Py_DecRef(problem);
    }
    return 1;
}

void npuhal_call_ends(void) {
    if (--in_call) return;
    atomic_store(&held_until, 0);
    if (atomic_load(&came)) call_handlers();
    if (npuhal_interrupted()) python.Py_AddPendingCall(raise_next, 0);
}

void npuhal_interrupts_begin(void) {
    static const int TRIES = 100;
    raised = python.PyList_New(0);
    for (int left = TRIES; left && !get_handler; left--) { /* a handler may raise meanwhile */
        object *module = python.PyImport_ImportModule("_signal");
        if (module) get_handler = python.PyObject_GetAttrString(module, "getsignal");
        python.Py_DecRef(module);
        object *problem = npuhal_fetch();
        if (problem) npuhal_raise_behind(problem);
        python.Py_DecRef(problem);
    }
    for (int at = 0; at < COUNT; at++) numbers[at] = python.PyLong_FromUnsignedLongLong((unsigned long long)SIGNALS[at]);
    pthread_atfork(0, 0, after_fork);
}
