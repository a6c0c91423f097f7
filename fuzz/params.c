/* Proving key files of any content: found sections lie inside the file, and the full check ends with an answer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "groth16/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    params_view v;
    bool valid;
    if (params_view_open(&v, "fuzz", data, size, &err) == CUZK_OK) {
        if (v.bytes != size || v.vk_bytes > size) abort();
        for (params_section s = 0; s < PARAMS_SECTIONS; s++) {
            if (v.offset[s] > size || (uint64_t)v.count[s] * params_point_bytes(s) > size - v.offset[s]) abort();
        }
    }
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    cuzk_status st = key_verify_file(path, true, &valid, NULL, NULL, &err);
    if (st == CUZK_OK && !valid && err.status != CUZK_KEY_DAMAGED) abort();
    close(fd);
    return 0;
}
