/* The program's side: starts the server with the first call, and carries calls to it. */

#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

extern char **environ;

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t leaving;
static shim_region *_Atomic region;
static int wire = -1;
static pid_t home;
static uint64_t region_bytes;
static _Atomic int orphaned; /* a forked child of a process that had opened a card */
static __thread shim_slot *mine;
static __thread int busy;

/* What the program's addresses of the machine show, by pieces. Most of them show one file of the server throughout, at
   offsets that grow with the addresses: such a piece is mapped once, and what the program may touch of it is a matter of
   protection, which costs a third of a mapping. */
enum { PIECE = 64 << 20, PIECE_NEW = 0, PIECE_LINEAR = 1, PIECE_MIXED = 2 };
typedef struct {
    int64_t file;
    uint64_t start; /* where the file would begin */
    int kind;
} piece;
static piece *pieces;
static uint64_t piece_count;

static void say(const char *format, ...) {
    char text[1024] = "npuhal shim: ";
    va_list rest;
    va_start(rest, format);
    int n = vsnprintf(text + 13, sizeof text - 14, format, rest);
    va_end(rest);
    n = n < 0 ? 0 : n > (int)sizeof text - 15 ? (int)sizeof text - 15 : n;
    text[13 + n] = '\n';
    if (write(2, text, 14 + n) < 0) return;
}

static void give_up(const char *why) __attribute__((noreturn));
static void give_up(const char *why) {
    say("%s; the program cannot go on without its fake", why);
    abort();
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *limit) {
    return syscall(SYS_futex, word, op, value, limit, NULL, 0);
}

/* -- start --------------------------------------------------------------------------------------------------------- */

typedef struct {
    char **argv, **env;
    int wire;
    sigset_t mask;
    int error;
} launch;

static char stacks[2][16384] __attribute__((aligned(16)));

static int run_server(void *argument) {
    launch *it = argument;
    setsid(); /* Ctrl-C in the terminal is the program's, not the server's */
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &it->mask, NULL);
    if (it->wire == 3)
        fcntl(3, F_SETFD, 0);
    else
        dup2(it->wire, 3);
    execve(it->argv[0], it->argv, it->env);
    it->error = errno;
    _exit(127);
}

/* Starts a process whose end no signal tells of; qemu's user mode, which emulates another processor, has only such that do. */
static pid_t start(int (*run)(void *), char *stack, launch *it) {
    pid_t pid = clone(run, stack + sizeof stacks[0], CLONE_VM | CLONE_VFORK, it);
    return pid < 0 && errno == EINVAL ? clone(run, stack + sizeof stacks[0], CLONE_VM | CLONE_VFORK | SIGCHLD, it) : pid;
}

/* The process in between ends at once, so that the server is nobody's child: the program's wait() never meets it. */
static int run_between(void *argument) {
    launch *it = argument;
    if (start(run_server, stacks[1], it) < 0) it->error = errno;
    _exit(0);
}

static int spawn(launch *it) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &it->mask);
    pid_t pid = start(run_between, stacks[0], it);
    int error = pid < 0 ? errno : it->error;
    while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &it->mask, NULL);
    return error;
}

static char **environment(void) {
    static const char *const dropped[] = {"LD_PRELOAD=", "PYTHONHOME=", "PYTHONSTARTUP=", "PYTHONMALLOC="};
    size_t count = 0;
    while (environ[count]) count++;
    char **made = calloc(count + 1, sizeof *made);
    if (!made) give_up("there is no memory left");
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        int drop = 0;
        for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
            drop |= !strncmp(environ[i], dropped[k], strlen(dropped[k]));
        if (!drop) made[kept++] = environ[i];
    }
    return made;
}

/* Receives "ready" with the file of the region, or the reason why there is none. */
static int receive(char *text, size_t room) {
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {text, room - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;
    while ((n = recvmsg(wire, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
    if (n <= 0) give_up("the server ended before it was ready, see above");
    text[n] = 0;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_type != SCM_RIGHTS) give_up(text);
    int file;
    memcpy(&file, CMSG_DATA(head), sizeof file);
    return file;
}

static shim_region *attach(void) {
    char text[900];
    int file = receive(text, sizeof text);
    region_bytes = strtoull(text, NULL, 10);
    shim_region *made = mmap(NULL, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (made == MAP_FAILED || made->magic != SHIM_MAGIC) give_up("the memory shared with the server cannot be mapped");
    void *wanted = (void *)made->memory;
    void *got = mmap(wanted, made->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                     -1, 0);
    if (got != wanted) {
        snprintf(text, sizeof text, "the addresses %#llx to %#llx of the fake are taken in this process, or limited "
                 "(ulimit -v)", (unsigned long long)made->memory, (unsigned long long)(made->memory + made->bytes));
        give_up(text);
    }
    piece_count = made->bytes / PIECE + 1;
    pieces = calloc(piece_count, sizeof *pieces); /* zeroed pages: what is not touched costs nothing */
    if (!pieces) give_up("there is no memory left");
    prctl(PR_SET_PTRACER, made->server, 0, 0, 0); /* lets it read what pointers lead to, where the kernel asks for it */
    return made;
}

static void begin(void) {
    int pair[2];
    Dl_info self;
    char place[PATH_MAX], why[PATH_MAX + 128];
    const char *code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from npuhal.command import main; sys.exit(main())";
    const char *python = getenv("NPUHAL_PYTHON"), *root = getenv("NPUHAL_ROOT");
    if (!python) python = SHIM_PYTHON;
    if (!root) root = SHIM_ROOT;
    if (!dladdr(&npuhal_shim_functions, &self) || !realpath(self.dli_fname, place)) give_up("the path of libascend_hal.so is unknown");
    if (access(python, X_OK)) {
        snprintf(why, sizeof why, "the Python interpreter %s is not there; write the library again by `npuhal shim "
                 "driver`, or name one in NPUHAL_PYTHON", python);
        give_up(why);
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) give_up("no socket for the server can be made");
    char *argv[] = {(char *)python, "-E", "-s", "-c", (char *)code, (char *)root, "serve", "--wire", "3", "--library",
                    place, NULL};
    launch it = {.argv = argv, .env = environment(), .wire = pair[1]};
    int error = spawn(&it);
    close(pair[1]);
    free(it.env);
    wire = pair[0];
    if (error) {
        snprintf(why, sizeof why, "the server cannot be started: %s: %s", python, strerror(error));
        give_up(why);
    }
    home = getpid();
    atomic_store(&region, attach());
}

static void forget_files(void);

/* -- forks --------------------------------------------------------------------------------------------------------- */

static void before_fork(void) {
    pthread_mutex_lock(&starting);
    pthread_mutex_lock(&mapping);
}

static void after_fork(void) {
    pthread_mutex_unlock(&mapping);
    pthread_mutex_unlock(&starting);
}

/* A child gets a fake of its own with its first call, unless a card was open: then every call is refused. */
static void in_child(void) {
    shim_region *shared = atomic_load(&region);
    after_fork();
    mine = NULL;
    busy = 0;
    if (!shared) return;
    close(wire);
    wire = -1;
    forget_files();
    if (atomic_load(&shared->opened)) {
        atomic_store(&orphaned, (int)shared->refused);
    } else {
        munmap((void *)shared->memory, shared->bytes);
        munmap(shared, region_bytes);
    }
    atomic_store(&region, NULL);
}

static void thread_ends(void *slot) {
    mine = NULL; /* destructors of other libraries may still call */
    atomic_store(&((shim_slot *)slot)->owner, 0);
}

static void once(void) {
    pthread_key_create(&leaving, thread_ends);
    pthread_atfork(before_fork, after_fork, in_child);
}

static shim_region *ready(void) {
    static pthread_once_t first = PTHREAD_ONCE_INIT;
    shim_region *shared = atomic_load_explicit(&region, memory_order_acquire);
    if (shared) return shared;
    pthread_once(&first, once);
    if (atomic_load(&orphaned)) return NULL;
    pthread_mutex_lock(&starting);
    if (!atomic_load(&region)) begin();
    pthread_mutex_unlock(&starting);
    return atomic_load(&region);
}

/* The shared memory, if there is a server. */
shim_region *shim_current(void) { return atomic_load_explicit(&region, memory_order_acquire); }

/* The slot of the calling thread, if it has made a call. */
shim_slot *shim_current_slot(void) { return mine; }

/* -- a call -------------------------------------------------------------------------------------------------------- */

static int server_lives(void) {
    struct pollfd it = {.fd = wire, .events = POLLIN};
    return poll(&it, 1, 0) <= 0 || !(it.revents & (POLLHUP | POLLERR));
}

/* The server has ended before the program: from now on every call fails, as on a card that has fallen off its bus. */
static int64_t lost(shim_region *shared) {
    if (!(atomic_fetch_or(&shared->flags, SHIM_ENDED | SHIM_LOST) & SHIM_LOST))
        say("the server of the fake (process %d) has ended, see above; every call answers %u", shared->server, shared->lost);
    return shared->lost;
}

static shim_slot *claim(shim_region *shared) {
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    for (;;) {
        for (uint32_t i = 0; i < shared->slots; i++) {
            shim_slot *slot = (shim_slot *)((char *)shared + SHIM_HEADER + i * shared->slot_bytes);
            uint32_t nobody = 0;
            if (atomic_load_explicit(&slot->owner, memory_order_relaxed)) continue;
            if (!atomic_compare_exchange_strong(&slot->owner, &nobody, self)) continue;
            if (!atomic_exchange(&slot->started, 1)) (void)!send(wire, &i, sizeof i, MSG_NOSIGNAL);
            return slot; /* where the server has ended, the call finds that out */
        }
        const struct timespec moment = {0, 1000000};
        nanosleep(&moment, NULL); /* more threads than slots: wait until one ends */
    }
}

/* Files of the server that were opened before; a number that has come to mean another file has another key. */
static struct {
    int64_t key;
    int file;
} opened_files[4];
static unsigned next_file;

static void forget_files(void) {
    for (unsigned i = 0; i < sizeof opened_files / sizeof *opened_files; i++) {
        if (opened_files[i].key) close(opened_files[i].file);
        opened_files[i].key = 0;
    }
    free(pieces);
    pieces = NULL;
}

/* Returns a file of the server, or -1. */
static int server_file(const shim_region *shared, int64_t key) {
    unsigned count = sizeof opened_files / sizeof *opened_files;
    for (unsigned i = 0; i < count; i++)
        if (opened_files[i].key == key) return opened_files[i].file;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", shared->server, (int)(key & INT32_MAX));
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return -1;
    unsigned at = next_file++ % count;
    if (opened_files[at].key) close(opened_files[at].file);
    opened_files[at].key = key;
    return opened_files[at].file = file;
}

/* Changes the protection of a range instead of its mapping, where that does; the lock of mappings is held. */
static int protect(const shim_region *shared, const shim_mapping *it, int file) {
    uint64_t first = (it->address - shared->memory) / PIECE, last = (it->address + it->size - 1 - shared->memory) / PIECE;
    piece *at = &pieces[first];
    if (last >= piece_count) return 0;
    if (first == last && at->kind == PIECE_NEW && file >= 0) {
        uint64_t begins = shared->memory + first * PIECE, into = it->address - begins;
        if (it->offset >= into && begins + PIECE <= shared->memory + shared->bytes
            && mmap((void *)begins, PIECE, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, it->offset - into) != MAP_FAILED)
            *at = (piece){it->file, it->address - it->offset, PIECE_LINEAR};
    }
    if (first == last && at->kind == PIECE_LINEAR
        && (file < 0 || (at->file == it->file && at->start == it->address - it->offset))
        && !mprotect((void *)it->address, it->size, file < 0 ? PROT_NONE : PROT_READ | PROT_WRITE))
        return 1;
    for (uint64_t n = first; n <= last; n++) pieces[n].kind = PIECE_MIXED;
    return 0;
}

/* Brings this process's view of the machine's memory up to what the server has published, in order; 0: it has ended. */
static int apply(shim_region *shared) {
    if (atomic_load(&shared->published) == atomic_load_explicit(&shared->applied, memory_order_acquire)) return 1;
    pthread_mutex_lock(&mapping);
    uint64_t to = atomic_load(&shared->published);
    const shim_mapping *ring = (const shim_mapping *)((char *)shared + shared->mappings);
    for (uint64_t n = atomic_load(&shared->applied); n != to; n++) {
        const shim_mapping *it = &ring[n % shared->most_mappings];
        int file = it->file < 0 ? -1 : server_file(shared, it->file);
        if (it->file >= 0 && file < 0) {
            if (server_lives()) give_up("the server's memory cannot be opened");
            pthread_mutex_unlock(&mapping);
            return 0;
        }
        if (protect(shared, it, file)) continue;
        void *got = file >= 0 ? mmap((void *)it->address, it->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, it->offset)
                              : mmap((void *)it->address, it->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (got == MAP_FAILED) give_up("memory of the fake cannot be mapped");
    }
    atomic_store(&shared->applied, to);
    pthread_mutex_unlock(&mapping);
    return 1;
}

static uint64_t number(const void *at, unsigned bytes) {
    uint64_t value = 0;
    memcpy(&value, at, bytes); /* little endian on both architectures */
    return value;
}

typedef struct {
    char *theirs; /* the program's memory */
    char *copy;   /* in the slot */
    uint64_t size;
} span;

/* Copies what a function's pointers lead to into the slot, and lets arguments and copies point there. */
static int marshal(shim_region *shared, shim_slot *slot, const shim_function *function, uint64_t *args, span *spans) {
    char *at = (char *)slot + SHIM_HEADER, *end = (char *)slot + shared->slot_bytes;
    for (unsigned i = 0; i < function->rules; i++) {
        const shim_rule *rule = &shim_rules[function->first + i];
        const span *parent = rule->parent < 0 ? NULL : &spans[rule->parent];
        spans[i] = (span){NULL, NULL, 0};
        if (parent && !parent->copy) continue;
        uint64_t value = parent ? number(parent->copy + rule->at, 8) : args[rule->arg];
        if (!value || (parent && value - shared->memory < shared->bytes)) continue; /* pinned: the same on both sides */
        uint64_t count = 1;
        if (rule->count_arg >= 0) {
            const char *holder = rule->count_rule < 0 ? NULL
                : rule->count_rule == (int)i ? (const char *)value : spans[rule->count_rule].copy;
            count = rule->count_rule < 0 ? args[rule->count_arg] : holder ? number(holder + rule->count_at, rule->count_bytes) : 0;
            if (rule->count_bytes == 4) count = (uint32_t)count;
        }
        uint64_t size = rule->text ? strlen((const char *)value) + 1 : rule->base;
        if (!rule->text && rule->unit) {
            if (count > (uint64_t)(end - at) / rule->unit) return 0;
            size += rule->unit * count;
        }
        if (size > (uint64_t)(end - at)) return 0;
        spans[i] = (span){(char *)value, at, size};
        memcpy(at, (const void *)value, size);
        uint64_t there = shared->base + (uint64_t)(at - (char *)shared);
        if (parent)
            memcpy(parent->copy + rule->at, &there, 8);
        else
            slot->args[rule->arg] = there;
        at += (size + 15) & ~15ull;
    }
    return 1;
}

static void unmarshal(shim_region *shared, const shim_function *function, span *spans) {
    for (unsigned i = 0; i < function->rules; i++) { /* pointers that nobody has changed become the program's again */
        const shim_rule *rule = &shim_rules[function->first + i];
        if (rule->parent < 0 || !spans[i].copy) continue;
        char *holder = spans[rule->parent].copy + rule->at;
        if (number(holder, 8) == shared->base + (uint64_t)(spans[i].copy - (char *)shared))
            memcpy(holder, &spans[i].theirs, 8);
    }
    for (unsigned i = 0; i < function->rules; i++)
        if (spans[i].copy && shim_rules[function->first + i].written) memcpy(spans[i].theirs, spans[i].copy, spans[i].size);
}

/* Carries the call in a slot to the server and waits for its end; 0: the server has ended. */
static int transact(shim_slot *slot) {
    uint32_t turn = atomic_load_explicit(&slot->request, memory_order_relaxed) + 1;
    atomic_store(&slot->request, turn);
    if (atomic_load(&slot->server_sleeps)) futex(&slot->request, FUTEX_WAKE, 1, NULL);
    if (atomic_load(&slot->reply) == turn) return 1;
    atomic_store(&slot->program_sleeps, 1);
    while (atomic_load(&slot->reply) != turn) {
        const struct timespec moment = {0, 200000000}; /* calls that wait end soon after the server */
        if (futex(&slot->reply, FUTEX_WAIT, turn - 1, &moment) && errno == ETIMEDOUT && !server_lives()) return 0;
    }
    atomic_store_explicit(&slot->program_sleeps, 0, memory_order_relaxed);
    return 1;
}

static int64_t refuse(int code) {
    static _Atomic int told;
    if (!atomic_exchange(&told, 1))
        say("process %d was forked from %d after that one had opened a card: the driver's mappings do not come along; "
            "start processes by exec, or fork before the first card is opened. Its calls are refused", getpid(), home);
    return code;
}

int64_t npuhal_shim_call(uint32_t index, uint64_t *args) {
    shim_region *shared = ready();
    if (!shared) return refuse(atomic_load(&orphaned));
    uint32_t flags = atomic_load_explicit(&shared->flags, memory_order_relaxed);
    if (flags & SHIM_ENDED) return flags & SHIM_LOST ? shared->lost : shared->refused;
    const shim_function *function = &npuhal_shim_functions[index];
    span spans[8];
    int nested = busy; /* a signal handler of the program that calls while its thread is in a call */
    shim_slot *slot = nested ? claim(shared) : mine;
    if (!slot) {
        slot = mine = claim(shared);
        pthread_setspecific(leaving, slot);
    }
    busy = 1;
    slot->function = index;
    for (unsigned i = 0; i < function->args; i++) slot->args[i] = args[i];
    slot->site[0] = 0;
    if (flags & SHIM_WANTS_SITES)
        shim_find_site(slot->site, sizeof slot->site);
    int64_t result = shared->refused;
    if (marshal(shared, slot, function, args, spans)) {
        if (transact(slot) && apply(shared)) {
            unmarshal(shared, function, spans);
            result = slot->result;
        } else {
            result = lost(shared);
        }
    } else {
        say("%s: what its arguments lead to is larger than the %llu bytes a call can carry", function->name,
            (unsigned long long)(shared->slot_bytes - SHIM_HEADER));
    }
    busy = nested;
    if (nested) atomic_store(&slot->owner, 0);
    return result;
}

/* Each function is named once: libraries ask some of them again and again. */
int32_t npuhal_shim_lacks(const char *name, int32_t code) {
    static _Atomic(const char *) told[128];
    for (unsigned i = 0; i < sizeof told / sizeof *told; i++) {
        const char *nobody = NULL;
        if (atomic_compare_exchange_strong(&told[i], &nobody, name)) break;
        if (nobody == name) return code;
    }
    say("%s is not modelled by the fake; the call answers %d", name, code);
    return code;
}

/* -- the end ------------------------------------------------------------------------------------------------------- */

/* The last words: reports are told while the program can still be given an exit status. */
__attribute__((destructor)) static void end(void) {
    shim_region *shared = atomic_load(&region);
    if (!shared || getpid() != home) return;
    uint32_t word = UINT32_MAX;
    int32_t status = 0;
    ssize_t n = -1;
    if (send(wire, &word, sizeof word, MSG_NOSIGNAL) == sizeof word)
        while ((n = recv(wire, &status, sizeof status, 0)) < 0 && errno == EINTR) {}
    const char *strict = getenv("NPUHAL_SHIM_STRICT");
    if (n != sizeof status && strict && *strict && strcmp(strict, "0")) status = 1; /* nobody has looked to the end */
    if (status) {
        fflush(NULL);
        _exit(status);
    }
}
