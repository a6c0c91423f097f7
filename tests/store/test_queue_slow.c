/* 100 queued jobs of 51 MB each, as a storage provider's backlog of commit-phase-1 outputs: at most 1 GiB resident. */
#define QUEUE_JOBS 100u
#define QUEUE_BYTES ((size_t)51 * 1000 * 1000)
#define QUEUE_MOST ((uint64_t)1 << 30)
#include "store/test_queue.c"
