/* Sector update jobs: the reference's set read, checked, its public inputs and assignment; any flipped byte found; what
 * must be refused, and where a false proof is said to be false.
 *
 * tests/data/snap-2kib-a is a real update. Proofs are changed as bytes, requests as text; sizes of several partitions
 * are made up. */
#include "base/json.h"
#include "base/text.h"
#include "circuit/job.h"
#include "r1cs/witness.h"
#include "ref/job_folder.h"
#include "ref/snap_case.h"
#include "ref/sources.h"

#define SET TEST_DATA "/snap-2kib-a/"
#define COMM_R_OLD "47772676abdac569f10520e64bad8bfd1e6b915dbfd39056824af6f18a8c2709"
#define COMM_R_NEW "c379b81a10ed1b4c2ecacb5e8fdbc4ead84876877dc8310627d5bae27ee4236d"
#define COMM_D_NEW "70c14e7b02b9d00c2b773fc58198e97e6ba94d4345b86cf09e61de0f467b8938"

/* Where things lie in a proof of 2 KiB: docs/formats.md. */
enum {
    APEX_AT = 40,
    CHALLENGES_AT = APEX_AT + 8 * 32,
    FIRST_AT = CHALLENGES_AT + 8,
    TREE_R_BYTES = 556,
    TREE_D_BYTES = 76 + 48 * 6,
    CHALLENGE_BYTES = 2 * TREE_R_BYTES + TREE_D_BYTES,
    ROOT_IN = 4, /* in a Merkle proof: kind, root, leaf, levels */
    LEAF_IN = 36,
    LEVELS_IN = 68,
    INDEX_D_IN = LEVELS_IN + 8 + 8 + 32, /* of the first level of tree D */
};

static cuzk_status open_job(job *j, const char *request, const char *vanilla, bool facts, cuzk_error *err) {
    job_source source = {.path = vanilla};
    job_files files = {.request.path = request, .vanilla = &source, .n_vanilla = vanilla ? 1 : 0};
    memset(err, 0, sizeof *err);
    return job_open(j, "snap", &files, facts, err);
}

/* ---- the reference's set ---- */

static void same_inputs(const job *j) {
    fr inputs[SNAP_PUBLIC_INPUTS];
    char *text = read_whole(SET "inputs-0.txt", NULL), *rest = text, hex[65];
    assert_int_equal(j->circuit.kind->public_count(&j->circuit), SNAP_PUBLIC_INPUTS);
    j->circuit.kind->public_inputs(j, 0, inputs);
    for (size_t i = 0; i < SNAP_PUBLIC_INPUTS; i++, rest += 65) {
        uint8_t b[32];
        fr_to_be_bytes(b, &inputs[i]);
        text_hex(hex, b, 32);
        assert_memory_equal(hex, rest, 64);
        assert_int_equal(rest[64], '\n');
    }
    assert_int_equal(*rest, 0);
    free(text);
}

static void same_assignment(const job *j, const json_node *proof) {
    shape *s;
    witness w;
    cuzk_error err;
    uint8_t inputs[32], aux[32];
    char hex[65];
    uint64_t bad;
    const circuit *c = &j->circuit;
    assert_int_equal(shape_record(&s, c->kind->synthesize, c->params, NULL, &err), CUZK_OK);
    assert_int_equal(witness_write(&w, s, c->kind->synthesize, c->params, c->kind->instance(j, 0), &err), CUZK_OK);
    assert_int_equal(witness_digests(&w, s, inputs, aux, NULL, NULL, &err), CUZK_OK);
    text_hex(hex, inputs, 32);
    assert_string_equal(hex, json_member(proof, "inputs_with_one_sha256")->text);
    text_hex(hex, aux, 32);
    assert_string_equal(hex, json_member(proof, "aux_sha256")->text);
    assert_int_equal(witness_check(&w, s, &bad, NULL, NULL, &err), CUZK_OK);
    assert_true(bad == UINT64_MAX);
    witness_free(&w);
    shape_destroy(s);
}

static void real_update(void **state) {
    (void)state;
    job j, facts;
    cuzk_error err;
    json_node *meta;
    size_t len;
    assert_int_equal(open_job(&j, SET "request.json", SET "vanilla-0.bin", false, &err), CUZK_OK);
    assert_int_equal(open_job(&facts, SET "request.json", NULL, true, &err), CUZK_OK);
    assert_string_equal(j.circuit.name, "snap-2kib");
    assert_int_equal(j.partitions, 1);
    assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_OK);
    assert_int_equal(facts.circuit.kind->job_check(&facts, NULL, NULL, &err), CUZK_USAGE);
    same_inputs(&j);
    same_inputs(&facts);
    char *text = read_whole(SET "set.json", &len);
    assert_int_equal(json_tree(&meta, j.memory, "set.json", text, len, 1 << 20, &err), CUZK_OK);
    same_assignment(&j, json_at(json_member(meta, "proofs"), 0));
    free(text);
    job_close(&facts);
    job_close(&j);
}

static void inspected(void **state) {
    (void)state;
    job j;
    cuzk_error err;
    size_t len;
    json_out *o = json_out_create();
    assert_int_equal(open_job(&j, SET "request.json", SET "vanilla-0.bin", false, &err), CUZK_OK);
    json_begin_object(o);
    j.circuit.kind->inspect(&j, o);
    json_end_object(o);
    const char *text = json_out_text(o, &len);
    assert_non_null(text);
    assert_non_null(strstr(text, "StackedDrg2KiBV1"));
    assert_non_null(strstr(text, COMM_D_NEW));
    assert_non_null(strstr(text, "\"miner_id\":1000"));
    assert_non_null(strstr(text, "root_r_new"));
    json_out_destroy(o);
    job_close(&j);
}

/* ---- changed proofs ---- */

/* Status and place of the set with these bytes as its proof. */
static cuzk_status judge(const char *request, const void *proof, size_t len, cuzk_error *err) {
    job j;
    const char *path = write_file("vanilla.bin", proof, len);
    cuzk_status s = open_job(&j, request, path, false, err);
    if (s != CUZK_OK) return s;
    s = j.circuit.kind->job_check(&j, NULL, NULL, err);
    job_close(&j);
    return s;
}

static void expect(const char *request, const void *proof, size_t len, cuzk_status want, const char *where) {
    cuzk_error err;
    cuzk_status s = judge(request, proof, len, &err);
    if (s != want || !strstr(err.where, where))
        fail_msg("status %d for %d, \"%s\" for \"%s\": %s", (int)s, (int)want, err.where, where, err.what);
    assert_int_not_equal(err.what[0], 0);
}

/* Every byte means something, whichever is changed. */
static void any_byte(void **state) {
    (void)state;
    size_t len;
    char *proof = read_whole(SET "vanilla-0.bin", &len);
    assert_int_equal(len, 15064);
    for (size_t at = 0; at < len; at += at < FIRST_AT + CHALLENGE_BYTES ? 5 : 41) {
        cuzk_error err;
        proof[at] = (char)(proof[at] ^ 1 << (at % 8));
        cuzk_status s = judge(SET "request.json", proof, len, &err);
        if (s != CUZK_UNSATISFIED && s != CUZK_MALFORMED) fail_msg("byte %zu: status %d", at, (int)s);
        assert_int_not_equal(err.where[0], 0);
        proof[at] = (char)(proof[at] ^ 1 << (at % 8));
    }
    free(proof);
}

/* A changed value is said to be where it is. */
static void places(void **state) {
    (void)state;
    enum { THIRD = FIRST_AT + 3 * CHALLENGE_BYTES };
    static const struct {
        size_t at;
        uint8_t bit;
        const char *where;
    } changes[] = {
        {0, 1, "partition 0: comm_r_old"},
        {APEX_AT + 32, 1, "partition 0: apex"},
        {FIRST_AT + ROOT_IN, 1, "partition 0: comm_r_old"},
        {FIRST_AT + TREE_R_BYTES + TREE_D_BYTES + ROOT_IN, 1, "partition 0: comm_r_new"},
        {THIRD + ROOT_IN, 1, "challenge 3"},
        {THIRD + ROOT_IN, 1, "tree r old"},
        {THIRD + LEAF_IN, 1, "tree r old"},
        {THIRD + LEVELS_IN + 16, 1, "tree r old"},
        {THIRD + TREE_R_BYTES + ROOT_IN, 1, "tree d new"},
        {THIRD + TREE_R_BYTES + LEAF_IN, 1, "tree d new"},
        {THIRD + TREE_R_BYTES + INDEX_D_IN, 1, "tree d new"},
        {THIRD + TREE_R_BYTES + LEVELS_IN + 16, 1, "tree d new"},
        {THIRD + TREE_R_BYTES + TREE_D_BYTES + ROOT_IN, 1, "tree r new"},
        {THIRD + TREE_R_BYTES + TREE_D_BYTES + LEAF_IN, 1, "tree r new"},
    };
    size_t len;
    char *proof = read_whole(SET "vanilla-0.bin", &len);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *byte = &proof[changes[i].at];
        *byte = (char)(*byte ^ changes[i].bit);
        expect(SET "request.json", proof, len, CUZK_UNSATISFIED, changes[i].where);
        *byte = (char)(*byte ^ changes[i].bit);
    }
    free(proof);
}

static void put_u64(char *at, uint64_t v) {
    memcpy(at, &v, 8);
}

static void lying_lengths(void **state) {
    (void)state;
    static const size_t counts[] = {32, CHALLENGES_AT, FIRST_AT + LEVELS_IN, FIRST_AT + LEVELS_IN + 8,
                                    FIRST_AT + TREE_R_BYTES + LEVELS_IN};
    static const uint64_t lies[] = {0, 9, 11, 1u << 20, UINT64_MAX, (uint64_t)1 << 63};
    size_t len;
    char *proof = read_whole(SET "vanilla-0.bin", &len), keep[8];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        memcpy(keep, proof + counts[i], 8);
        for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
            put_u64(proof + counts[i], lies[k]);
            expect(SET "request.json", proof, len, CUZK_MALFORMED, "vanilla.bin: byte");
        }
        memcpy(proof + counts[i], keep, 8);
    }
    proof[FIRST_AT] = 1; /* Sub in place of Single */
    expect(SET "request.json", proof, len, CUZK_MALFORMED, "challenge 0, tree r old");
    proof[FIRST_AT] = 0;
    memset(proof + APEX_AT, 0xff, 32); /* not below the modulus */
    expect(SET "request.json", proof, len, CUZK_MALFORMED, "apex leaf 0");
    free(proof);
}

static void cut_off(void **state) {
    (void)state;
    size_t len;
    char *proof = read_whole(SET "vanilla-0.bin", &len), *longer = calloc(1, len + 9);
    for (size_t n = 0; n < len; n += n < 400 ? 13 : 997)
        expect(SET "request.json", proof, n, CUZK_MALFORMED, "vanilla.bin");
    expect(SET "request.json", proof, len - 1, CUZK_MALFORMED, "challenge 9, tree r new");
    memcpy(longer, proof, len);
    expect(SET "request.json", longer, len + 8, CUZK_MALFORMED, "vanilla.bin: byte 15064");
    free(longer);
    free(proof);
}

/* ---- requests ---- */

/* Commitments are JSON text. */
static const char *write_request(const char *registered, const char *old, const char *new_r, const char *new_d,
                                 const char *more) {
    char text[1024];
    snprintf(text, sizeof text,
             "{\"registered_proof\": %s, \"comm_r_old\": %s, \"comm_r_new\": %s, \"comm_d_new\": %s%s}", registered,
             old, new_r, new_d, more);
    return write_file("request.json", text, strlen(text));
}

static const char two_kib[] = "\"StackedDrg2KiBV1\"", r_old[] = "\"" COMM_R_OLD "\"", r_new[] = "\"" COMM_R_NEW "\"",
                  d_new[] = "\"" COMM_D_NEW "\"";

static void least_request(void **state) {
    (void)state;
    static const char *const names[] = {"\"StackedDrg2KiBV1\"", "0", "\"RegisteredUpdateProof_StackedDrg2KiBV1\""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        job j;
        cuzk_error err;
        const char *request = write_request(names[i], r_old, r_new, d_new, "");
        assert_int_equal(open_job(&j, request, SET "vanilla-0.bin", false, &err), CUZK_OK);
        assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_OK);
        same_inputs(&j);
        job_close(&j);
    }
}

static void refuse(const char *request, cuzk_status want, const char *place) {
    job j;
    cuzk_error err;
    cuzk_status s = open_job(&j, request, NULL, true, &err);
    if (s == CUZK_OK) fail_msg("taken, where %s is wrong", place);
    if (s != want || !strstr(err.where, place)) fail_msg("status %d, %s: %s", (int)s, err.where, err.what);
}

static void bad_requests(void **state) {
    (void)state;
    static const char modulus[] = "\"01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73\"";
    char zero[80];
    snprintf(zero, sizeof zero, "\"%064d\"", 0);
    refuse(write_request(two_kib, modulus, r_new, d_new, ""), CUZK_MALFORMED, "$.comm_r_old");
    refuse(write_request(two_kib, r_old, modulus, d_new, ""), CUZK_MALFORMED, "$.comm_r_new");
    refuse(write_request(two_kib, r_old, r_new, modulus, ""), CUZK_MALFORMED, "$.comm_d_new");
    refuse(write_request(two_kib, zero, r_new, d_new, ""), CUZK_MALFORMED, "$.comm_r_old");
    refuse(write_request(two_kib, r_old, "\"c379\"", d_new, ""), CUZK_MALFORMED, "$.comm_r_new");
    refuse(write_request(two_kib, r_old, r_new, "7", ""), CUZK_MALFORMED, "$.comm_d_new");
    refuse(write_request("\"StackedDrg2KiBV1_1\"", r_old, r_new, d_new, ""), CUZK_FOREIGN, "$.registered_proof");
    refuse(write_request("5", r_old, r_new, d_new, ""), CUZK_MALFORMED, "$.registered_proof");
    refuse(write_request("null", r_old, r_new, d_new, ""), CUZK_MALFORMED, "$.registered_proof");
    refuse(write_request(two_kib, r_old, r_new, d_new,
                         ", \"miner_id\": 1001, "
                         "\"prover_id\": \"e807000000000000000000000000000000000000000000000000000000000000\""),
           CUZK_FOREIGN, "$.prover_id");
    refuse(write_file("request.json", "{}", 2), CUZK_MALFORMED, "$");
    refuse(write_file("request.json", "[]", 2), CUZK_MALFORMED, "$");
    static const char lacking[] = "{\"registered_proof\": 0, \"comm_r_old\": \"" COMM_R_OLD "\"}";
    refuse(write_file("request.json", lacking, sizeof lacking - 1), CUZK_MALFORMED, "$");
    refuse(in_folder("none"), CUZK_IO, "none");
}

/* Commitments of another update do not fit the proof. */
static void foreign_commitments(void **state) {
    (void)state;
    size_t len;
    char *proof = read_whole(SET "vanilla-0.bin", &len);
    expect(write_request(two_kib, r_new, r_new, d_new, ""), proof, len, CUZK_UNSATISFIED, "comm_r_old");
    expect(write_request(two_kib, r_old, r_old, d_new, ""), proof, len, CUZK_UNSATISFIED, "comm_r_new");
    expect(write_request(two_kib, r_old, r_new, r_new, ""), proof, len, CUZK_UNSATISFIED, "apex");
    free(proof);
}

static void wrong_use(void **state) {
    (void)state;
    job j;
    cuzk_error err;
    job_source vanilla[2] = {{.path = SET "vanilla-0.bin"}, {.path = SET "vanilla-0.bin"}};
    job_files files = {.c1.path = SET "request.json"};
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_USAGE);
    files = (job_files){.request.path = SET "request.json"};
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_USAGE);
    files = (job_files){.request.path = SET "request.json", .vanilla = vanilla, .n_vanilla = 2};
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_FOREIGN);
    files = (job_files){.request.path = SET "request.json", .vanilla = vanilla, .n_vanilla = 1, .size_override = 4096};
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.hint, "2.0 KiB"));
    files.size_override = (uint64_t)1 << 30; /* no update has this size */
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_USAGE);
}

/* ---- several partitions ---- */

static void swapped_partitions(void **state) {
    (void)state;
    snap_files f;
    job j;
    cuzk_error err;
    snap_files_make(&f, 16 << 10, 11, NULL);
    job_source swapped[2] = {{.path = f.list[1]}, {.path = f.list[0]}};
    job_source twice[2] = {{.path = f.list[0]}, {.path = f.list[0]}};
    job_files files = {.request.path = f.request, .vanilla = swapped, .n_vanilla = 2, .size_override = 16 << 10};
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_OK);
    assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_UNSATISFIED);
    assert_non_null(strstr(err.where, "partition 0"));
    job_close(&j);
    files.vanilla = twice;
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_OK);
    assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_UNSATISFIED);
    assert_non_null(strstr(err.where, "partition 1"));
    job_close(&j);
    snap_files_remove(&f);
}

/* The first fault is told, however many threads look. */
static void first_fault(void **state) {
    (void)state;
    snap_files f;
    size_t len;
    cuzk_error err;
    pool *workers = pool_create(4, &err);
    assert_non_null(workers);
    snap_files_make(&f, 8 << 20, 12, NULL);
    for (int k = 1; k < 4; k++) {
        char *proof = read_whole(f.list[k], &len);
        size_t each = (len - 40 - 128 * 32 - 8) / 10;
        proof[len - 5 * each + 36] ^= 1; /* leaf of challenge 5 */
        proof[len - 2 * each + 36] ^= 1;
        assert_int_equal(file_write_all(f.list[k], proof, len, false, &err), CUZK_OK);
        free(proof);
    }
    job j;
    job_source sources[4];
    job_files files = {.request.path = f.request, .vanilla = sources_of(sources, f.list, 4), .n_vanilla = 4};
    files.size_override = 8 << 20;
    assert_int_equal(job_open(&j, "snap", &files, false, &err), CUZK_OK);
    for (int round = 0; round < 5; round++) {
        assert_int_equal(j.circuit.kind->job_check(&j, workers, NULL, &err), CUZK_UNSATISFIED);
        assert_non_null(strstr(err.where, "partition 1, challenge 5"));
    }
    job_close(&j);
    snap_files_remove(&f);
    pool_destroy(workers);
}

/* What the check lets pass the circuit must prove, and the other way round: false values fail where they are. */
static void expect_constraint(const job *j, const shape *s, const char *where) {
    witness w;
    uint64_t bad;
    char path[256];
    cuzk_error err;
    const circuit *c = &j->circuit;
    assert_int_equal(witness_write(&w, s, c->kind->synthesize, c->params, c->kind->instance(j, 0), &err), CUZK_OK);
    assert_int_equal(witness_check(&w, s, &bad, NULL, NULL, &err), CUZK_OK);
    assert_true(bad != UINT64_MAX);
    assert_int_equal(cs_locate(path, sizeof path, bad, c->kind->synthesize, c->params, &err), CUZK_OK);
    if (!strstr(path, where)) fail_msg("%s for %s", path, where);
    witness_free(&w);
}

static void false_witnesses(void **state) {
    (void)state;
    job j;
    shape *s;
    cuzk_error err;
    fr one, keep;
    fr_set_one(&one);
    assert_int_equal(open_job(&j, SET "request.json", SET "vanilla-0.bin", false, &err), CUZK_OK);
    assert_int_equal(shape_record(&s, snap_synthesize, j.circuit.params, NULL, &err), CUZK_OK);
    /* What was read is the job's own, writable memory. */
    snap_partition *p = (snap_partition *)j.circuit.kind->instance(&j, 0);
    snap_challenge *third = (snap_challenge *)&p->challenges[3];
    const struct {
        fr *value;
        const char *where;
    } changes[] = {{&p->comm_c, "header / comm_r_old"},
                   {&p->comm_r_new, "header / comm_r_new"},
                   {(fr *)&p->apex[5], "header / partition path"},
                   {&third->r_old.leaf, "challenge 3 / tree r old"},
                   {&third->d_new.leaf, "challenge 3 / tree r new"},
                   {(fr *)&third->r_new.level[1].siblings[2], "challenge 3 / tree r new"},
                   {(fr *)&third->d_new.level[1].siblings[0], "challenge 3 / tree d new"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        keep = *changes[i].value;
        fr_add(changes[i].value, changes[i].value, &one);
        expect_constraint(&j, s, changes[i].where);
        *changes[i].value = keep;
    }
    shape_destroy(s);
    job_close(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_update),     cmocka_unit_test(inspected),          cmocka_unit_test(any_byte),
        cmocka_unit_test(places),          cmocka_unit_test(lying_lengths),      cmocka_unit_test(cut_off),
        cmocka_unit_test(least_request),   cmocka_unit_test(bad_requests),       cmocka_unit_test(foreign_commitments),
        cmocka_unit_test(wrong_use),       cmocka_unit_test(swapped_partitions), cmocka_unit_test(first_fault),
        cmocka_unit_test(false_witnesses),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
