/* What the functions that programs call, generated ones and others, have of library.c. */

#pragma once
#include <stdint.h>

enum { FAILED = 500000 }; /* ACL_ERROR_INTERNAL_ERROR */

/* Call a function of the bridge with the words of its arguments; `failed` is what a call that is broken off answers. */
int64_t npuhal_acl_call(uint32_t function, uint64_t *args, int64_t failed);
int64_t npuhal_acl_wait(uint32_t function, uint64_t *args, int64_t failed); /* of one that does nothing but wait */
