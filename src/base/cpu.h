/* Facts about this CPU and machine, read once. Thread-safe. */
#ifndef CUZK_BASE_CPU_H
#define CUZK_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cpu_facts {
    bool bmi2_adx;         /* MULX, ADCX, ADOX */
    bool avx2_fma;         /* besides: AVX2, FMA, and the OS saves the registers */
    bool avx512_ifma;      /* F, DQ, BW, VL, IFMA, and the OS saves the registers */
    unsigned threads;      /* usable by this process: affinity mask and cgroup quota */
    uint64_t memory_bytes; /* the smaller of physical memory and cgroup limit */
    char model[64];
} cpu_facts;

/* CUZK_CPU=portable|adx|fma|ifma in the environment lowers (never raises) the features: tests run each version by it.
 */
const cpu_facts *cpu_get(void);
uint64_t cpu_rss_bytes(void);       /* now */
uint64_t cpu_anonymous_bytes(void); /* of cpu_rss_bytes, what no file and no shared memory is behind */
uint64_t cpu_peak_rss_bytes(void);  /* of the process so far */
double cpu_monotonic_seconds(void);

#endif
