/* Runs a fuzz target on files instead of under libFuzzer: each argument is a file or a folder of files. Built with any
 * compiler, so that the corpus is a test everywhere. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t files;

static int replay_file(const char *path, size_t bytes) {
    FILE *f = fopen(path, "rb");
    /* Exactly as large as the input, so that the address sanitizer sees a read beyond it. */
    uint8_t *data = malloc(bytes ? bytes : 1);
    int ok = f && data && fread(data, 1, bytes, f) == bytes;
    if (f) fclose(f);
    if (ok) {
        LLVMFuzzerTestOneInput(data, bytes);
        files++;
    } else {
        fprintf(stderr, "cannot read %s\n", path);
    }
    free(data);
    return ok ? 0 : 1;
}

static int replay(const char *path) {
    struct stat st;
    if (stat(path, &st)) {
        perror(path);
        return 1;
    }
    if (!S_ISDIR(st.st_mode)) return replay_file(path, (size_t)st.st_size);
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        return 1;
    }
    int rc = 0;
    struct dirent *e;
    while (!rc && (e = readdir(dir))) {
        if (e->d_name[0] == '.') continue;
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        rc = replay(name);
    }
    closedir(dir);
    return rc;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (replay(argv[i])) return 1;
    printf("%zu inputs replayed\n", files);
    return files ? 0 : 1;
}
