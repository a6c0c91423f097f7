/* Trapdoor files of any content: five elements, or an error that says what is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "groth16/setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    trapdoor t;
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    cuzk_status s = trapdoor_read(&t, path, &err);
    close(fd);
    if (s != CUZK_OK) {
        if (s != err.status || !err.what[0] || !err.where[0]) abort();
        return 0;
    }
    const fr *part[] = {&t.alpha, &t.beta, &t.gamma, &t.delta, &t.tau};
    for (int i = 0; i < 5; i++) {
        if (!fr_limbs_reduced(part[i]->l)) abort();
    }
    return 0;
}
