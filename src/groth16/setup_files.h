/* The files of a development key while they are made: parameters, verifying key, and the marker that tells what they
 * are. Internal to those who make keys.
 *
 * Both files are written under temporary names, their whole size reserved first. The marker goes down before the key
 * appears under its name, so that a development key is never without it.
 */
#ifndef CUZK_GROTH16_SETUP_FILES_H
#define CUZK_GROTH16_SETUP_FILES_H

#include "format/bellperson.h"

typedef struct setup_files {
    const char *params_path, *vk_path; /* borrowed */
    char marker[4096];
    file_writer *params, *vk;
    uint64_t offset[PARAMS_SECTIONS], total; /* of the sections' points in the parameters */
} setup_files;

/* USAGE when a section has more points than the format can tell. */
cuzk_status setup_files_fit(const uint64_t count[PARAMS_SECTIONS], cuzk_error *err);
/* Fills f. USAGE when one of the files is there. */
cuzk_status setup_files_look(setup_files *f, const char *params_path, const char *vk_path, cuzk_error *err);
/* Opens both, writes all but the points of h to b_g2, which the caller writes to f->params at their offsets. */
cuzk_status setup_files_begin(setup_files *f, const verifying_key *vk, const uint64_t count[PARAMS_SECTIONS],
                              cuzk_error *err);
/* Gives the files their names, after the marker. What was put down is taken away when a later step fails. */
cuzk_status setup_files_publish(setup_files *f, cuzk_error *err);
void setup_files_abort(setup_files *f); /* also after publish */
/* SHA-256 of a file. */
cuzk_status setup_files_hash(uint8_t out[32], const char *path, cuzk_error *err);

#endif
