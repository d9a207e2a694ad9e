/* The server's side of a slot: waits outside of Python, and calls into it once for each request. */

#define _GNU_SOURCE
#include "shim.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static long futex(_Atomic uint32_t *word, int op, uint32_t value) {
    return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

/* Waits, outside of Python, until the program rings for what it has posted. */
void npuhal_shim_await_posts(shim_region *shared) {
    for (;;) {
        uint32_t rung = atomic_load(&shared->rung);
        atomic_store(&shared->listens, 1);
        if (atomic_load(&shared->posted) != atomic_load(&shared->taken)) break;
        futex(&shared->rung, FUTEX_WAIT, rung);
    }
    atomic_store(&shared->listens, 0);
}

/* Serves a slot for ever: `call` gets the number of a function and returns its result. */
void npuhal_shim_serve(shim_slot *slot, int64_t (*call)(uint32_t)) {
    uint32_t done = atomic_load(&slot->reply);
    for (;;) {
        if (atomic_load(&slot->request) == done) {
            atomic_store(&slot->server_sleeps, 1);
            while (atomic_load(&slot->request) == done) futex(&slot->request, FUTEX_WAIT, done);
            atomic_store_explicit(&slot->server_sleeps, 0, memory_order_relaxed);
        }
        slot->result = call(slot->function);
        atomic_store(&slot->reply, ++done);
        if (atomic_load(&slot->program_sleeps)) futex(&slot->reply, FUTEX_WAKE, 1);
    }
}
