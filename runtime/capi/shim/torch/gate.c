/* Waits of torch_npu give up the interpreter's lock.

   torch_npu takes the functions of libascendcl.so to need no interpreter, so it waits for its own threads, and for its
   own locks, with the lock held. Here those threads need it, and the program would hang. Where libtorch_npu.so calls one
   of the functions below, it comes here instead: a wait that would block is made without the lock, as Python's own
   extension modules make theirs. No thread that has the lock waits for another lock, so none can wait in a circle. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct {
    int (*alive)(void);
    int (*held)(void);
    void *(*save)(void);
    void (*restore)(void *);
} python;

static void *let_go(void) { return python.alive && python.alive() && python.held() ? python.save() : 0; }

static int back(void *state, int result) {
    if (state) python.restore(state);
    return result;
}

#define WAIT(call)                    \
    do {                              \
        void *state = let_go();       \
        return back(state, call);     \
    } while (0)

static int mutex_lock(pthread_mutex_t *lock) {
    if (!pthread_mutex_trylock(lock)) return 0;
    WAIT(pthread_mutex_lock(lock));
}

static int read_lock(pthread_rwlock_t *lock) {
    if (!pthread_rwlock_tryrdlock(lock)) return 0;
    WAIT(pthread_rwlock_rdlock(lock));
}

static int write_lock(pthread_rwlock_t *lock) {
    if (!pthread_rwlock_trywrlock(lock)) return 0;
    WAIT(pthread_rwlock_wrlock(lock));
}

static int read_event(int file, eventfd_t *value) { WAIT(eventfd_read(file, value)); }
static int wait_condition(pthread_cond_t *this, pthread_mutex_t *lock) { WAIT(pthread_cond_wait(this, lock)); }
static int join(pthread_t thread, void **result) { WAIT(pthread_join(thread, result)); }
static int sleep_micro(useconds_t time) { WAIT(usleep(time)); }
static int sleep_nano(const struct timespec *time, struct timespec *left) { WAIT(nanosleep(time, left)); }

static int wait_condition_until(pthread_cond_t *this, pthread_mutex_t *lock, const struct timespec *end) {
    WAIT(pthread_cond_timedwait(this, lock, end));
}

/* Functions of the C++ library, whose own waits are in that library. */
#define CPP_ONE(name, symbol)                                  \
    static void name(void *this) {                             \
        static void (*real)(void *);                           \
        if (!real) *(void **)&real = dlsym(RTLD_DEFAULT, symbol); \
        void *state = let_go();                                \
        real(this);                                            \
        back(state, 0);                                        \
    }
#define CPP_WAIT "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
#define CPP_JOIN "_ZNSt6thread4joinEv"
CPP_ONE(cpp_join, CPP_JOIN)

static void cpp_wait(void *this, void *lock) {
    static void (*real)(void *, void *);
    if (!real) *(void **)&real = dlsym(RTLD_DEFAULT, CPP_WAIT);
    void *state = let_go();
    real(this, lock);
    back(state, 0);
}

static int guard_acquire(void *guard) {
    static int (*real)(void *);
    if (!real) *(void **)&real = dlsym(RTLD_DEFAULT, "__cxa_guard_acquire");
    WAIT(real(guard));
}

static const struct { const char *name; void *here; } waits[] = {
    {"pthread_mutex_lock", mutex_lock}, {"pthread_rwlock_rdlock", read_lock}, {"pthread_rwlock_wrlock", write_lock},
    {"pthread_cond_wait", wait_condition}, {"pthread_cond_timedwait", wait_condition_until}, {"pthread_join", join},
    {"eventfd_read", read_event}, {"usleep", sleep_micro}, {"nanosleep", sleep_nano}, {CPP_WAIT, cpp_wait},
    {CPP_JOIN, cpp_join}, {"__cxa_guard_acquire", guard_acquire},
};

static void replace(void **slot, void *with) {
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)slot & ~(size - 1);
    if (mprotect((void *)page, size, PROT_READ | PROT_WRITE)) return;
    __atomic_store_n(slot, with, __ATOMIC_RELEASE);
    mprotect((void *)page, size, PROT_READ);
}

static void look(uintptr_t base, const ElfW(Rela) *rows, size_t count, const ElfW(Sym) *symbols, const char *names) {
    for (size_t row = 0; row < count; row++) {
        const ElfW(Sym) *symbol = symbols + ELF64_R_SYM(rows[row].r_info);
        if (!ELF64_R_SYM(rows[row].r_info) || symbol->st_shndx != SHN_UNDEF || rows[row].r_addend) continue;
        for (size_t at = 0; at < sizeof waits / sizeof *waits; at++)
            if (!strcmp(names + symbol->st_name, waits[at].name))
                replace((void **)(base + rows[row].r_offset), waits[at].here);
    }
}

static int visit(struct dl_phdr_info *object, size_t size, void *found) {
    (void)size;
    const char *file = strrchr(object->dlpi_name, '/');
    if (strcmp(file ? file + 1 : object->dlpi_name, "libtorch_npu.so")) return 0;
    uintptr_t base = object->dlpi_addr;
    const ElfW(Dyn) *entry = 0;
    for (int at = 0; at < object->dlpi_phnum; at++)
        if (object->dlpi_phdr[at].p_type == PT_DYNAMIC) entry = (const void *)(base + object->dlpi_phdr[at].p_vaddr);
    const ElfW(Sym) *symbols = 0;
    const char *names = 0;
    const ElfW(Rela) *plain = 0, *calls = 0;
    size_t plain_size = 0, calls_size = 0;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB) symbols = (const void *)value;
        if (entry->d_tag == DT_STRTAB) names = (const void *)value;
        if (entry->d_tag == DT_RELA) plain = (const void *)value;
        if (entry->d_tag == DT_JMPREL) calls = (const void *)value;
        if (entry->d_tag == DT_RELASZ) plain_size = entry->d_un.d_val;
        if (entry->d_tag == DT_PLTRELSZ) calls_size = entry->d_un.d_val;
    }
    if (!symbols || !names) return 0;
    look(base, plain, plain_size / sizeof *plain, symbols, names);
    look(base, calls, calls_size / sizeof *calls, symbols, names);
    *(int *)found = 1;
    return 1;
}

/* Before the first call, and as soon as this library is loaded if torch_npu is there by then. */
__attribute__((constructor)) void npuhal_torch_gate(void) {
    static int done;
    if (done) return;
    *(void **)&python.alive = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    *(void **)&python.held = dlsym(RTLD_DEFAULT, "PyGILState_Check");
    *(void **)&python.save = dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
    *(void **)&python.restore = dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
    dl_iterate_phdr(visit, &done);
}
