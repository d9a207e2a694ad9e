/* Where the program is in its Python code, if the calling thread has any: "file:line" for the reports of checkers.

   A thread that holds the interpreter's lock is asked through the interpreter's public functions. One that has given it
   up (as ctypes does around a call) cannot take it here: a caller above might hold it and wait for this very thread. Its
   own frames stand still meanwhile, and interpreters that export their crash handler print them without the lock. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    int (*holds)(void);
    void *(*state)(void);
    void *(*frame)(void);
    void *(*back)(void *);
    void *(*code)(void *);
    int (*line)(void *);
    void *(*attribute)(void *, const char *);
    const char *(*text)(void *);
    void (*release)(void *);
    void (*clear)(void);
    void (*print)(int, void *);
} python;
static pthread_once_t looked = PTHREAD_ONCE_INIT;
static __thread int scratch = -1;

static void look(void) {
#define FIND(member, name) *(void **)&python.member = dlsym(RTLD_DEFAULT, name)
    FIND(holds, "PyGILState_Check");
    FIND(state, "PyGILState_GetThisThreadState");
    FIND(frame, "PyEval_GetFrame");
    FIND(back, "PyFrame_GetBack");
    FIND(code, "PyFrame_GetCode");
    FIND(line, "PyFrame_GetLineNumber");
    FIND(attribute, "PyObject_GetAttrString");
    FIND(text, "PyUnicode_AsUTF8");
    FIND(release, "Py_DecRef");
    FIND(clear, "PyErr_Clear");
    FIND(print, "_Py_DumpTraceback");
#undef FIND
}

/* Files of packages are not the program's: it is named by its own. */
static int foreign(const char *file) {
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") || strstr(file, "/lib/python3") || file[0] == '<';
}

static void with_lock(char *text, size_t room) {
    void *frame = python.frame(); /* borrowed; the ones behind it are not */
    for (int depth = 0; frame && depth < 200; depth++) {
        void *code = python.code(frame), *name = code ? python.attribute(code, "co_filename") : NULL;
        const char *file = name ? python.text(name) : NULL;
        int found = file && !foreign(file);
        if (found) snprintf(text, room, "%s:%d", file, python.line(frame));
        python.release(name);
        python.release(code);
        void *next = found ? NULL : python.back(frame);
        if (depth) python.release(frame);
        frame = next;
    }
    python.clear();
}

static void without_lock(char *text, size_t room, void *state) {
    if (scratch < 0) scratch = memfd_create("npuhal-site", MFD_CLOEXEC);
    if (scratch < 0 || ftruncate(scratch, 0)) return;
    lseek(scratch, 0, SEEK_SET);
    python.print(scratch, state);
    char lines[8192];
    ssize_t n = pread(scratch, lines, sizeof lines - 1, 0);
    lines[n < 0 ? 0 : n] = 0;
    for (char *line = strstr(lines, "File \""); line; line = strstr(line, "File \"")) {
        char *file = line + 6, *end = strchr(file, '"');
        if (!end) return;
        *end = 0;
        line = end + 1;
        if (foreign(file)) continue;
        char *digits = strstr(line, "line ");
        if (digits) snprintf(text, room, "%s:%d", file, atoi(digits + 5));
        return;
    }
}

__attribute__((visibility("hidden"))) void shim_find_site(char *text, size_t room) {
    pthread_once(&looked, look);
    if (!python.state || !python.holds) return;
    void *state = python.state();
    if (!state) return;
    if (python.holds()) {
        if (python.frame && python.back && python.code && python.line && python.attribute && python.text && python.release && python.clear)
            with_lock(text, room);
    } else if (python.print) {
        without_lock(text, room, state);
    }
}
