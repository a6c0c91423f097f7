/* What this machine gives this process; see base/cpu.h.
 *
 * CPU features come from CPUID; AVX2 and AVX-512 count only when XGETBV says that the system saves the YMM
 * registers (XCR0 bits 1, 2), the opmask and all ZMM registers (and 5, 6, 7). Threads are the affinity mask cut by the
 * cgroup's CPU quota, memory is the physical memory cut by the cgroup's limit; a limit may stand at any level of the
 * hierarchy (cgroup v1 and v2), so all levels up to the root are read. In a container the process's own cgroup path may
 * not exist below the mount: the walk then ends at the mount, which is the container's own group.
 */
#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

static cpu_facts facts;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#ifdef __x86_64__
static uint64_t enabled_states(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

static void read_features(cpu_facts *f) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return;
    const uint64_t ymm_states = 0x6, zmm_states = 0xe6, states = c >> 27 & 1 ? enabled_states() : 0;
    bool ymm = (states & ymm_states) == ymm_states, zmm = (states & zmm_states) == zmm_states, fma = c >> 12 & 1;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    f->bmi2_adx = (b >> 8 & 1) && (b >> 19 & 1);
    f->avx2_fma = f->bmi2_adx && ymm && fma && (b >> 5 & 1);
    const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 30 | 1u << 31; /* F, DQ, IFMA, BW, VL */
    f->avx512_ifma = f->avx2_fma && zmm && (b & avx512) == avx512;
}
#else
static void read_features(cpu_facts *f) {
    (void)f;
}
#endif

static void lower_features(cpu_facts *f) {
    const char *wish = getenv("CUZK_CPU");
    if (!wish) return;
    if (strcmp(wish, "portable") == 0) f->bmi2_adx = f->avx2_fma = f->avx512_ifma = false;
    if (strcmp(wish, "adx") == 0) f->avx2_fma = f->avx512_ifma = false;
    if (strcmp(wish, "fma") == 0) f->avx512_ifma = false;
}

/* The first line of a small file without its end; false when it cannot be read. */
static bool first_line(const char *path, char *out, int n) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fgets(out, n, f) != NULL;
    fclose(f);
    if (ok) out[strcspn(out, "\n")] = 0;
    return ok;
}

/* Calls look with every folder from mount/path up to mount. */
static void walk_up(const char *mount, const char *path, void (*look)(const char *folder, cpu_facts *f), cpu_facts *f) {
    char folder[1024];
    int n = snprintf(folder, sizeof folder, "%s%s", mount, path);
    if (n < 0 || (size_t)n >= sizeof folder) return;
    size_t stop = strlen(mount);
    for (;;) {
        look(folder, f);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < stop || strlen(folder) <= stop) return;
        *slash = 0;
    }
}

static void cut_threads(cpu_facts *f, double quota, double period) {
    if (quota <= 0 || period <= 0) return;
    double cpus = quota / period;
    /* A part of a CPU is rounded up: a thread may run on it for part of the time. */
    unsigned whole = cpus < 1 ? 1 : cpus > 65536 ? 65536 : (unsigned)(cpus + 0.999);
    if (whole < f->threads) f->threads = whole;
}

static void cut_memory(cpu_facts *f, const char *text) {
    char *end;
    unsigned long long v = strtoull(text, &end, 10); /* "max" has no digits */
    if (end != text && v && v < f->memory_bytes) f->memory_bytes = v;
}

static void look_v2(const char *folder, cpu_facts *f) {
    char path[1100], line[128];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    double quota, period;
    if (first_line(path, line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2)
        cut_threads(f, quota, period);
    snprintf(path, sizeof path, "%s/memory.max", folder);
    if (first_line(path, line, sizeof line)) cut_memory(f, line);
}

static void look_v1_cpu(const char *folder, cpu_facts *f) {
    char path[1100], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!first_line(path, quota, sizeof quota)) return;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (first_line(path, period, sizeof period)) cut_threads(f, strtod(quota, NULL), strtod(period, NULL));
}

static void look_v1_memory(const char *folder, cpu_facts *f) {
    char path[1100], line[64];
    snprintf(path, sizeof path, "%s/memory.limit_in_bytes", folder);
    if (first_line(path, line, sizeof line)) cut_memory(f, line);
}

/* True when name is one of the comma-separated controllers. */
static bool has_controller(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n])) return true;
    return false;
}

static void read_cgroups(cpu_facts *f) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return;
    char line[1024];
    while (fgets(line, sizeof line, file)) { /* "hierarchy:controllers:path" */
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) continue;
        list++;
        *path++ = 0;
        if (strcmp(path, "/") == 0) path = "";
        if (!*list) {
            walk_up("/sys/fs/cgroup", path, look_v2, f);
            walk_up("/sys/fs/cgroup/unified", path, look_v2, f);
        }
        if (has_controller(list, "cpu")) walk_up("/sys/fs/cgroup/cpu", path, look_v1_cpu, f);
        if (has_controller(list, "memory")) walk_up("/sys/fs/cgroup/memory", path, look_v1_memory, f);
    }
    fclose(file);
}

static unsigned allowed_cpus(void) {
    /* The mask may be larger than cpu_set_t on machines with more than 1024 CPUs. */
    for (size_t cpus = 1024; cpus <= (size_t)1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0) return (unsigned)n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

static void read_model(cpu_facts *f) {
    snprintf(f->model, sizeof f->model, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    char line[512];
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0) continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(f->model, sizeof f->model, "%.63s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(file);
}

static void read_facts(void) {
    read_features(&facts);
    lower_features(&facts);
    facts.threads = allowed_cpus();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    facts.memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    read_cgroups(&facts);
    read_model(&facts);
}

const cpu_facts *cpu_get(void) {
    pthread_once(&once, read_facts);
    return &facts;
}

uint64_t cpu_rss_bytes(void) {
    unsigned long long size, resident;
    char line[128];
    if (!first_line("/proc/self/statm", line, sizeof line)) return 0;
    if (sscanf(line, "%llu %llu", &size, &resident) != 2) return 0;
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t cpu_anonymous_bytes(void) {
    unsigned long long size, resident, shared;
    char line[128];
    if (!first_line("/proc/self/statm", line, sizeof line)) return 0;
    if (sscanf(line, "%llu %llu %llu", &size, &resident, &shared) != 3 || shared > resident) return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t cpu_peak_rss_bytes(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage)) return 0;
    return (uint64_t)usage.ru_maxrss * 1024;
}

double cpu_monotonic_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
