/* Sends without an answer. A card takes entries out of a ring later than they are put there; so does the server, before
   it does anything else. While it has said that a queue has room, and nothing that concerns queues has been called since,
   a send is a copy of its entries: no switch to the server and back, which would cost more than the send itself. Where
   cards run in a thread of their own, that thread takes the entries; if it sleeps the program rings, and sends on. */

#define _GNU_SOURCE
#include "shim.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int32_t drvGetDevNum(void *count);

/* The part of struct halTaskSendInfo that matters here. */
typedef struct {
    uint32_t type, ts, sq;
    int32_t timeout;
    uint64_t entries;
    uint32_t count, position;
} send_info;

/* What is known of a queue: that so many entries can be sent without asking. */
typedef struct {
    uint32_t device, sq, epoch, credit, tail, depth;
} queue;

enum { SQE_BYTES = 64, INFO_BYTES = 64, MOST_ENTRIES = 256, QUEUES = 4096, ALIGNED = 16 };

static pthread_mutex_t posting = PTHREAD_MUTEX_INITIALIZER;
static queue queues[QUEUES]; /* those that share a place take turns: the other one is called for */

static queue *place(uint32_t device, uint32_t sq) { return &queues[(sq + 61 * device) % QUEUES]; }

static char *space(shim_region *shared, uint32_t bytes) {
    char *ring = (char *)shared + shared->posts;
    uint64_t posted = atomic_load_explicit(&shared->posted, memory_order_relaxed);
    uint64_t at = posted & (shared->posts_bytes - 1), left = shared->posts_bytes - at;
    uint64_t skip = left < bytes ? left : 0;
    if (posted + skip + bytes - atomic_load(&shared->taken) > shared->posts_bytes) return 0;
    if (skip) {
        *(shim_post *)(ring + at) = (shim_post){SHIM_SKIP, (uint32_t)skip, 0, 0};
        atomic_store(&shared->posted, posted + skip);
        at = 0;
    }
    return ring + at;
}

/* Wakes the thread of the server that listens for posts (npuhal_shim_await_posts), if it sleeps. */
static void ring(shim_region *shared) {
    atomic_fetch_add(&shared->rung, 1);
    if (atomic_exchange(&shared->listens, 0)) syscall(SYS_futex, &shared->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Whether all entries may be posted: a checker may have to see some when they are sent. */
static int may_wait(const shim_region *shared, const send_info *info) {
    for (uint32_t i = 0; i < info->count && shared->patterns; i++) {
        uint64_t words[2];
        memcpy(words, (const char *)info->entries + SQE_BYTES * i, sizeof words);
        for (uint32_t n = 0; n < shared->patterns; n++) {
            const shim_pattern *it = &shared->called_for[n];
            if ((words[0] & it->mask[0]) == it->value[0] && (words[1] & it->mask[1]) == it->value[1]) return 0;
        }
    }
    return 1;
}

/* Posts a send; 0 where it must be called for. */
static int posted(shim_region *shared, uint32_t device, send_info *info) {
    uint32_t flags = atomic_load_explicit(&shared->flags, memory_order_relaxed);
    if ((flags & ~(SHIM_FREE_RUN | SHIM_WANTS_SITES)) != SHIM_POSTS) return 0;
    if (info->type || info->ts || !info->entries || info->entries - shared->memory < shared->bytes) return 0;
    if (!info->count || info->count > MOST_ENTRIES) return 0;
    if (!(flags & SHIM_FREE_RUN) && atomic_load(&shared->waiting)) return 0; /* somebody waits for what this send does */
    if (!may_wait(shared, info)) return 0;
    char site[SHIM_SITE];
    site[0] = 0;
    if (flags & SHIM_WANTS_SITES) shim_find_site(site, sizeof site);
    uint32_t named = (uint32_t)strlen(site), size = SQE_BYTES * info->count;
    uint32_t bytes = (uint32_t)(SHIM_POST_HEAD + INFO_BYTES + size + (named + ALIGNED - 1) / ALIGNED * ALIGNED);
    queue *it = place(device, info->sq);
    pthread_mutex_lock(&posting);
    char *at = 0;
    if (it->device == device && it->sq == info->sq && it->epoch == atomic_load(&shared->epoch) && it->credit >= info->count)
        at = space(shared, bytes);
    if (at) {
        *(shim_post *)at = (shim_post){device, bytes, named, 0};
        memcpy(at + SHIM_POST_HEAD, info, INFO_BYTES);
        memcpy(at + SHIM_POST_HEAD + INFO_BYTES, (const void *)info->entries, size);
        memcpy(at + SHIM_POST_HEAD + INFO_BYTES + size, site, named);
        ((send_info *)(at + SHIM_POST_HEAD))->entries = shared->base + (uint64_t)(at - (char *)shared) + SHIM_POST_HEAD + INFO_BYTES;
        info->position = it->tail;
        it->credit -= info->count;
        it->tail = (it->tail + info->count) % it->depth;
        atomic_fetch_add(&shared->posted, bytes);
    }
    pthread_mutex_unlock(&posting);
    if (at && atomic_load(&shared->waiting)) {
        uint32_t count;
        if (flags & SHIM_FREE_RUN)
            ring(shared);
        else
            drvGetDevNum(&count); /* it began to wait meanwhile: any call wakes it */
    }
    return at != 0;
}

/* Sends: posts, or calls and keeps what the server has said of the queue. */
int32_t shim_send(uint32_t function, uint32_t device, void *argument) {
    uint64_t args[] = {device, (uint64_t)argument};
    shim_region *shared = shim_current();
    send_info *info = argument;
    if (!shared || !info) return (int32_t)npuhal_shim_call(function, args);
    if (posted(shared, device, info)) return 0;
    uint64_t before = atomic_load(&shared->posted);
    int32_t code = (int32_t)npuhal_shim_call(function, args);
    const shim_slot *slot = shim_current_slot();
    if (code || !slot || slot->function != function || !slot->epoch) return code;
    pthread_mutex_lock(&posting);
    if (atomic_load(&shared->posted) == before) /* else another thread's sends are not counted in it */
        *place(device, info->sq) = (queue){device, info->sq, slot->epoch, slot->credit, slot->tail, slot->depth};
    pthread_mutex_unlock(&posting);
    return code;
}
