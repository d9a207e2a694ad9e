/* What a program and the server of its fake share: one file of memory, mapped by both, and the calls that pass in it.

   A thread of the program owns a slot while it lives. A call puts its arguments, and copies of what they point to, into
   the slot, raises `request` and sleeps until `reply` has the same number. The server has a thread for each slot. */

#ifndef NPUHAL_SHIM_H
#define NPUHAL_SHIM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SHIM_MAGIC 0x4d494853u /* "SHIM" */
#define SHIM_ARGS 12
#define SHIM_SITE 480
#define SHIM_PATTERNS 8
#define SHIM_HEADER 4096 /* of the region, and of each slot */

enum { SHIM_WANTS_SITES = 1, SHIM_ENDED = 2, SHIM_POSTS = 4, SHIM_LOST = 8, SHIM_FREE_RUN = 16 };

typedef struct {
    uint64_t address, size;
    int64_t file;    /* descriptor of the server, above it which file that is; -1: nobody may touch the range any more */
    uint64_t offset;
} shim_mapping;

/* Entries whose first 16 bytes have these values under these masks. */
typedef struct {
    uint64_t mask[2], value[2];
} shim_pattern;

typedef struct {
    uint32_t magic, slots;
    uint64_t slot_bytes;
    uint64_t base;             /* where the server has mapped this file */
    uint64_t memory, bytes;    /* addresses of the machine: the same in both processes */
    uint64_t mappings, most_mappings;   /* offset of the ring of mapping changes in this file, and its entries */
    uint32_t refused;          /* what a call answers that cannot be made */
    int32_t server;            /* process id */
    _Atomic uint32_t flags;
    _Atomic uint32_t opened;   /* cards that the program has opened */
    _Atomic uint64_t published;
    _Atomic uint64_t applied;
    uint64_t posts, posts_bytes; /* offset of the ring of posted sends, and its size: a power of two */
    _Atomic uint64_t posted;   /* bytes written to the ring by the program, and taken out by the server */
    _Atomic uint64_t taken;
    _Atomic uint32_t epoch;    /* what is known of queues holds while this stays the same */
    _Atomic uint32_t waiting;  /* calls in the server that wait for something to happen */
    uint32_t lost;             /* what calls answer after the server has ended */
    _Atomic uint32_t rung;     /* grows when the program has posted while nobody takes posts */
    _Atomic uint32_t listens;  /* whether a thread of the server sleeps until it does */
    uint32_t patterns;         /* how many of the following are used */
    shim_pattern called_for[SHIM_PATTERNS]; /* entries that are not posted */
} shim_region;

/* A posted send: this, the struct halTaskSendInfo, the entries, then the site. */
typedef struct {
    uint32_t device, bytes; /* device SHIM_SKIP: nothing up to the end of the ring */
    uint32_t site, gap;     /* length of the site */
} shim_post;

#define SHIM_SKIP UINT32_MAX
#define SHIM_POST_HEAD sizeof(shim_post)

typedef struct {
    _Atomic uint32_t owner;    /* thread id, 0: free */
    _Atomic uint32_t started;  /* whether the server has been asked for a thread */
    _Atomic uint32_t request;
    _Atomic uint32_t server_sleeps;
    uint32_t function;
    uint32_t credit, tail, depth, epoch; /* after a send: the queue's, if epoch is not 0 */
    char gap[28];
    _Atomic uint32_t reply;
    _Atomic uint32_t program_sleeps;
    int64_t result;
    uint64_t args[SHIM_ARGS];
    char site[SHIM_SITE];      /* file:line of the program, where it is wanted and known */
} shim_slot;

/* How one pointer of a function is handled. What it leads to is copied into the slot before the call and, if it is
   written, back after it. */
typedef struct {
    int8_t arg;          /* argument that is, or leads to, the pointer */
    int8_t parent;       /* rule whose copy holds the pointer; -1: the argument itself */
    uint16_t at;         /* offset of the pointer in that copy */
    uint8_t written;
    uint8_t text;        /* a string that ends with 0 */
    uint32_t base, unit; /* bytes: base + unit * count */
    int8_t count_arg;    /* argument that holds the count; -1: the count is 1 */
    int8_t count_rule;   /* rule whose copy holds it (its own allowed); -1: the argument itself */
    uint16_t count_at;
    uint8_t count_bytes;
} shim_rule;

typedef struct {
    const char *name;
    uint8_t args, rules;
    uint16_t first;      /* rule */
} shim_function;

_Static_assert(sizeof(shim_region) == 400 && sizeof(shim_post) == 16 && sizeof(shim_slot) == 656, "region.py has the same layouts");

extern const shim_function npuhal_shim_functions[];
extern const uint32_t npuhal_shim_count;
extern const shim_rule shim_rules[] __attribute__((visibility("hidden")));

shim_region *shim_current(void) __attribute__((visibility("hidden")));
shim_slot *shim_current_slot(void) __attribute__((visibility("hidden")));
void shim_find_site(char *text, size_t room) __attribute__((visibility("hidden")));
int32_t shim_send(uint32_t function, uint32_t device, void *info) __attribute__((visibility("hidden")));
int64_t npuhal_shim_call(uint32_t function, uint64_t *args);
int32_t npuhal_shim_lacks(const char *name, int32_t code);

#endif
