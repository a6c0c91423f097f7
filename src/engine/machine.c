/* The automatic budget: see engine/machine.h and budget_machine_bytes.
 *
 * Everything is read anew at each call, since virtual machines grow and limits are changed while a process runs. A
 * limit may stand at any level, so all folders from the process's group up to the mount are read; where the mounts are,
 * /proc/self/mountinfo says. In a container the process's own path may not exist below the mount: the mount is then the
 * container's own group. Version 1 tells the parents' limits below a mount, too (hierarchical_memory_limit).
 * memory.high counts like memory.max: a process above it is held back until it is as good as stopped. Swap does not
 * count.
 */
#include "engine/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/budget.h"

#define PATH_BYTES 4096

static FILE *open_at(const char *root, const char *path) {
    char full[PATH_BYTES];
    int n = snprintf(full, sizeof full, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof full ? fopen(full, "re") : NULL;
}

/* The number that follows `name` at the front of a line, times unit; UINT64_MAX when there is none ("max"). */
static uint64_t read_number(const char *root, const char *path, const char *name, uint64_t unit) {
    char line[256];
    uint64_t found = UINT64_MAX;
    FILE *f = open_at(root, path);
    if (!f) return found;
    while (found == UINT64_MAX && fgets(line, sizeof line, f)) {
        if (strncmp(line, name, strlen(name)) != 0) continue;
        char *end, *at = line + strlen(name);
        unsigned long long v = strtoull(at, &end, 10);
        if (end == at || __builtin_mul_overflow((uint64_t)v, unit, &found)) break;
    }
    fclose(f);
    return found;
}

static void lower(uint64_t *limit, uint64_t v) {
    if (v < *limit) *limit = v;
}

static void look(const char *root, const char *folder, bool v2, uint64_t *limit) {
    static const struct {
        bool v2;
        const char *file, *name;
    } where[] = {{true, "memory.max", ""},
                 {true, "memory.high", ""},
                 {false, "memory.limit_in_bytes", ""},
                 {false, "memory.stat", "hierarchical_memory_limit "}};
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        char path[PATH_BYTES];
        if (where[i].v2 != v2) continue;
        int n = snprintf(path, sizeof path, "%s/%s", folder, where[i].file);
        if (n > 0 && (size_t)n < sizeof path) lower(limit, read_number(root, path, where[i].name, 1));
    }
}

/* Every folder from mount/path up to mount. */
static void walk_up(const char *root, const char *mount, const char *path, bool v2, uint64_t *limit) {
    char folder[PATH_BYTES];
    size_t stop = strlen(mount);
    int n = snprintf(folder, sizeof folder, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
    if (n < 0 || (size_t)n >= sizeof folder) return;
    for (;;) {
        look(root, folder, v2, limit);
        char *slash = strrchr(folder, '/');
        if (!slash || strlen(folder) <= stop) return;
        *slash = 0;
    }
}

/* True when name is one of the comma-separated words. */
static bool has_word(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n])) return true;
    return false;
}

/* The process's group in the hierarchy of version 2, or in that of version 1 that has memory. */
static bool own_group(const char *root, bool v2, char *out, size_t n) {
    char line[PATH_BYTES];
    bool found = false;
    FILE *f = open_at(root, "/proc/self/cgroup");
    if (!f) return false;
    while (!found && fgets(line, sizeof line, f)) { /* "hierarchy:controllers:path" */
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) continue;
        list++;
        *path++ = 0;
        if (v2 ? *list != 0 : !has_word(list, "memory")) continue;
        snprintf(out, n, "%s", path);
        found = true;
    }
    fclose(f);
    return found;
}

/* The group's path below a mount that shows the hierarchy from `top` on; "" when the mount does not reach it. */
static const char *below(const char *group, const char *top) {
    size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
    return strncmp(group, top, n) == 0 && (group[n] == '/' || !group[n]) ? group + n : "";
}

/* Looks in every mount of the hierarchy; false when mountinfo names none. */
static bool look_in_mounts(const char *root, bool v2, const char *group, uint64_t *limit) {
    char line[3 * PATH_BYTES], top[PATH_BYTES], mount[PATH_BYTES], type[64], options[1024];
    bool any = false;
    FILE *f = open_at(root, "/proc/self/mountinfo");
    if (!f) return false;
    while (fgets(line, sizeof line, f)) {
        /* "36 35 98:0 /top /mount options [optional fields] - type source super-options" */
        const char *dash = strstr(line, " - ");
        if (!dash || sscanf(line, "%*s %*s %*s %4095s %4095s", top, mount) != 2) continue;
        if (sscanf(dash, " - %63s %*s %1023s", type, options) != 2) continue;
        if (v2 ? strcmp(type, "cgroup2") != 0 : strcmp(type, "cgroup") != 0 || !has_word(options, "memory")) continue;
        walk_up(root, mount, below(group, top), v2, limit);
        any = true;
    }
    fclose(f);
    return any;
}

uint64_t machine_limit_bytes(const char *root) {
    uint64_t limit = read_number(root, "/proc/meminfo", "MemTotal:", 1024);
    for (int v2 = 0; v2 < 2; v2++) {
        char group[PATH_BYTES];
        if (!own_group(root, v2, group, sizeof group)) continue;
        if (look_in_mounts(root, v2, group, &limit)) continue;
        walk_up(root, v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory", group, v2, &limit);
    }
    return limit == UINT64_MAX ? 0 : limit;
}

uint64_t machine_budget_of(uint64_t limit, uint64_t margin) {
    const uint64_t most = 5ull << 30;
    if (!margin) margin = limit / 16 < most ? limit / 16 : most;
    return limit > margin ? limit - margin : 0;
}

uint64_t budget_machine_bytes(uint64_t margin) {
    return machine_budget_of(machine_limit_bytes(""), margin);
}
