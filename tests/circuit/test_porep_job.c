/* PoRep jobs: the reference's files read, checked, and their public inputs; what must be refused; tampering found.
 *
 * tests/data/porep-* are sets of real sectors (tests/data has what is read only). Documents are changed as text where
 * the reader must notice, and in memory where the check must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "circuit/job.h"
#include "circuit/porep/vanilla.h"
#include "ref/porep_sector.h"

#define SET(set, file) TEST_DATA "/porep-" set "/" file

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/cuzk-porep-job-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char path[128];
    static const char *const names[] = {"c1.json", "request.json"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static const char *in_folder(const char *name) {
    static char path[2][128];
    static int turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static char *read_text(const char *path, size_t *len) {
    buffer b;
    cuzk_error err;
    if (file_read(&b, path, (size_t)16 << 20, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
    char *text = malloc(b.bytes + 1);
    memcpy(text, b.data, b.bytes);
    text[b.bytes] = 0;
    if (len) *len = b.bytes;
    buffer_free(&b);
    return text;
}

static void write_text(const char *path, const void *text, size_t len) {
    cuzk_error err;
    assert_int_equal(file_write_all(path, text, len, false, &err), CUZK_OK);
}

/* One replacement of the n-th (from 0) occurrence. The result is malloc'd. */
static char *replace(const char *text, const char *from, const char *to, int n) {
    const char *at = text;
    for (at = strstr(at, from); at && n > 0; n--) at = strstr(at + 1, from);
    assert_non_null(at);
    size_t before = (size_t)(at - text);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    memcpy(out, text, before);
    strcpy(out + before, to);
    strcat(out + before, at + strlen(from));
    return out;
}

static cuzk_status open_files(job *j, const char *c1, const char *request, uint64_t size, bool facts, cuzk_error *err) {
    job_files files = {.c1.path = c1, .request.path = request, .size_override = size};
    memset(err, 0, sizeof *err);
    return job_open(j, "porep", &files, facts, err);
}

static void same_inputs(const job *j, const char *set) {
    const circuit_kind *k = j->circuit.kind;
    size_t n = k->public_count(&j->circuit);
    fr *inputs = calloc(n, sizeof *inputs);
    for (unsigned part = 0; part < j->partitions; part++) {
        char path[256], hex[65];
        snprintf(path, sizeof path, TEST_DATA "/porep-%s/inputs-%u.txt", set, part);
        char *text = read_text(path, NULL), *rest = text;
        k->public_inputs(j, part, inputs);
        for (size_t i = 0; i < n; i++) {
            uint8_t b[32];
            fr_to_be_bytes(b, &inputs[i]);
            text_hex(hex, b, 32);
            assert_memory_equal(hex, rest, 64);
            assert_int_equal(rest[64], '\n');
            rest += 65;
        }
        assert_int_equal(*rest, 0);
        free(text);
    }
    free(inputs);
}

static const struct {
    const char *set;
    uint64_t size;
    const char *circuit, *shape;
    unsigned partitions;
} sets[] = {
    {"2kib-a", 0, "porep-2kib", "porep-2kib", 1},
    {"2kib-synth", 0, "porep-synthetic-2kib", "porep-2kib", 1},
    {"8mib-a", 0, "porep-8mib", "porep-8mib", 1},
    {"shape-8-0-0", 2048, "porep-2kib", "porep-2kib", 1},
    {"shape-8-8-0", 16384, "porep-16kib", "porep-16kib", 1},
};

static void test_sets(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        char c1[256];
        job j;
        cuzk_error err;
        snprintf(c1, sizeof c1, TEST_DATA "/porep-%s/c1.json", sets[i].set);
        if (open_files(&j, c1, NULL, sets[i].size, false, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
        assert_string_equal(j.circuit.name, sets[i].circuit);
        assert_string_equal(j.circuit.shape_name, sets[i].shape);
        assert_int_equal(j.partitions, sets[i].partitions);
        same_inputs(&j, sets[i].set);
        if (j.circuit.kind->job_check(&j, NULL, NULL, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
        const porep_partition *q = j.circuit.kind->instance(&j, 0);
        fr inputs[39];
        j.circuit.kind->public_inputs(&j, 0, inputs);
        assert_true(fr_eq(&inputs[0], &q->replica_id) && fr_eq(&inputs[1], &q->comm_d) &&
                    fr_eq(&inputs[2], &q->comm_r));
        job_close(&j);
    }
}

static void test_facts_only(void **state) {
    (void)state;
    static const char *const with_request[] = {"2kib-a", "2kib-synth", "2kib-ni", "8mib-a"};
    job j;
    cuzk_error err;
    for (size_t i = 0; i < 4; i++) {
        char request[256];
        snprintf(request, sizeof request, TEST_DATA "/porep-%s/sector.json", with_request[i]);
        if (open_files(&j, NULL, request, 0, true, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(j.partitions, i == 2 ? 13 : 1);
        same_inputs(&j, with_request[i]);
        assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_USAGE);
        job_close(&j);
    }
    assert_int_equal(open_files(&j, NULL, SET("shape-8-8-0", "sector.json"), 16384, true, &err), CUZK_OK);
    same_inputs(&j, "shape-8-8-0");
    job_close(&j);
    assert_int_equal(open_files(&j, SET("2kib-a", "c1.json"), NULL, 0, true, &err), CUZK_OK);
    same_inputs(&j, "2kib-a");
    job_close(&j);
    assert_int_equal(open_files(&j, NULL, SET("2kib-a", "sector.json"), 0, false, &err), CUZK_USAGE);
    assert_int_equal(open_files(&j, NULL, NULL, 0, true, &err), CUZK_USAGE);
}

/* ---- forms ---- */

static void test_forms(void **state) {
    (void)state;
    job j;
    cuzk_error err;
    char *good = read_text(SET("2kib-a", "c1.json"), NULL);

    assert_int_equal(open_files(&j, SET("2kib-a", "c1-wrapped.json"), NULL, 0, false, &err), CUZK_OK);
    same_inputs(&j, "2kib-a");
    job_close(&j);
    assert_int_equal(open_files(&j, SET("2kib-a", "c1-wrapped.json"), SET("2kib-a", "sector.json"), 0, false, &err),
                     CUZK_OK);
    job_close(&j);

    /* The bare form: no registered proof, no name over the partitions. */
    char *a = replace(good, "\"registered_proof\":\"StackedDrg2KiBV1_1\",", "", 0);
    char *b = replace(a, "{\"StackedDrg2KiBV1\":", "", 0), *bare = replace(b, "}}]]},\"comm_r\"", "}}]],\"comm_r\"", 0);
    const char *c1 = in_folder("c1.json");
    write_text(c1, bare, strlen(bare));
    assert_int_equal(open_files(&j, c1, NULL, 0, false, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.hint, "--request"));
    assert_int_equal(open_files(&j, c1, SET("2kib-a", "sector.json"), 0, false, &err), CUZK_OK);
    same_inputs(&j, "2kib-a");
    assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_OK);
    job_close(&j);
    free(a);
    free(b);
    free(bare);

    /* Members in another order, unknown members in between. */
    a = replace(good, "\"registered_proof\":\"StackedDrg2KiBV1_1\",", "\"more\":{\"x\":[1,{\"comm_r\":2}]},", 0);
    b = replace(a, "\"index\":", "\"new\":[[256]],\"index\":", 3);
    size_t n = strlen(b);
    b = realloc(b, n + 100);
    strcpy(b + n - 1, ",\"registered_proof\":\"StackedDrg2KiBV1_1\"}");
    write_text(c1, b, strlen(b));
    if (open_files(&j, c1, NULL, 0, false, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
    same_inputs(&j, "2kib-a");
    assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_OK);
    job_close(&j);
    free(a);
    free(b);
    free(good);
}

/* Writing what was read gives the file again, byte for byte. */
static void test_write(void **state) {
    (void)state;
    static const struct {
        const char *path;
        uint64_t size;
    } files[] = {{SET("2kib-a", "c1.json"), 0}, {SET("8mib-a", "c1.json"), 0}, {SET("shape-8-8-0", "c1.json"), 16384}};
    for (size_t i = 0; i < 3; i++) {
        cuzk_error err;
        porep_c1 c1;
        size_t len, written;
        buffer out;
        char *text = read_text(files[i].path, &len);
        arena *a = arena_create(BUFFER_REQUEST, 0, &err);
        assert_int_equal(porep_c1_read(&c1, a, "c1.json", text, len, files[i].size, files[i].size != 0, &err), CUZK_OK);
        assert_int_equal(porep_c1_write(&out, &written, &c1, &err), CUZK_OK);
        assert_int_equal(written, len);
        assert_memory_equal(out.data, text, len);
        buffer_free(&out);
        arena_destroy(a);
        free(text);
    }
}

/* ---- what is refused ---- */

static cuzk_status read_only(const void *text, size_t len, uint64_t size, cuzk_error *err) {
    porep_c1 c1;
    cuzk_error made;
    memset(err, 0, sizeof *err);
    arena *a = arena_create(BUFFER_REQUEST, 0, &made);
    assert_non_null(a);
    cuzk_status s = porep_c1_read(&c1, a, "c1.json", text, len, size, false, err);
    arena_destroy(a);
    return s;
}

static void test_changed_documents(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        int nth;
        cuzk_status status;
        const char *where, *what;
    } cases[] = {
        {"[112,174", "[256,174", 0, CUZK_MALFORMED, ".root[0]", "byte"},
        {"[112,174", "[-1,174", 0, CUZK_MALFORMED, ".root[0]", "byte"},
        {"[112,174", "[1.5,174", 0, CUZK_MALFORMED, ".root[0]", "byte"},
        {"[112,174", "[\"112\",174", 0, CUZK_MALFORMED, ".root[0]", "byte"},
        {"[112,174", "[[112],174", 0, CUZK_MALFORMED, ".root[0]", "type"},
        {"[112,174", "[112,0,174", 0, CUZK_MALFORMED, ".root", "too many bytes"},
        {"[112,174", "[174", 0, CUZK_MALFORMED, ".root", "too few bytes"},
        {"\"index\":0", "\"index\":2", 0, CUZK_MALFORMED, ".index", "number"},
        {"\"index\":6", "\"index\":8", 0, CUZK_MALFORMED, ".index", "number"},
        {"\"index\":0", "\"index\":null", 0, CUZK_MALFORMED, ".index", "number"},
        {"\"index\":0", "\"index\":0,\"index\":0", 0, CUZK_MALFORMED, "path.path[0]", "twice"},
        {"\"index\":0", "\"indes\":0", 0, CUZK_MALFORMED, "path.path[0]", "index"},
        {"\"Single\"", "\"Sub\"", 0, CUZK_FOREIGN, "comm_d_proofs", "shape"},
        {"\"Single\"", "\"Other\"", 0, CUZK_MALFORMED, "comm_d_proofs", "Single"},
        {"\"layer_index\":1", "\"layer_index\":4294967296", 0, CUZK_MALFORMED, "layer_index", "number"},
        {"\"node\":6", "\"node\":64", 0, CUZK_MALFORMED, "node", "number"},
        {"\"_h\":null", "\"rows\":[]", 0, CUZK_MALFORMED, "column", "twice"},
        {"\"rows\":", "\"rowz\":", 0, CUZK_MALFORMED, "column", "rows"},
        {"\"StackedDrg2KiBV1_1\"", "\"StackedDrg3KiBV1_1\"", 0, CUZK_FOREIGN, "registered_proof", "known"},
        {"\"StackedDrg2KiBV1_1\"", "5", 0, CUZK_MALFORMED, "registered_proof", "type"},
        {"\"StackedDrg2KiBV1_1\"", "\"StackedDrg8MiBV1_1\"", 0, CUZK_FOREIGN, "vanilla_proofs",
         "different sector sizes"},
        {"{\"StackedDrg2KiBV1\":", "{\"StackedDrg8MiBV1\":", 0, CUZK_MALFORMED, "comm_d_proofs", "too few levels"},
        {"{\"StackedDrg2KiBV1\":", "{\"StackedDrg3KiBV1\":", 0, CUZK_FOREIGN, "vanilla_proofs", "unknown kind"},
        {"{\"StackedDrg2KiBV1\":[[", "{\"StackedDrg2KiBV1\":[[],[", 0, CUZK_MALFORMED, "[0]", "too few challenges"},
        {"{\"StackedDrg2KiBV1\":[[", "{\"StackedDrg2KiBV1\":[{},[", 0, CUZK_MALFORMED, "[0]", "type"},
        {"{\"StackedDrg2KiBV1\":", "{\"StackedDrg2KiBV1\":{},\"y\":", 0, CUZK_MALFORMED, "StackedDrg2KiBV1", "type"},
        {"\"vanilla_proofs\":", "\"vanilla_proofs\":[],\"y\":", 0, CUZK_MALFORMED, "vanilla_proofs",
         "too few partitions"},
        {"\"vanilla_proofs\":", "\"vanilla_proofs\":{},\"y\":", 0, CUZK_MALFORMED, "vanilla_proofs", "empty"},
        {"\"vanilla_proofs\":", "\"vanilla_proofs\":7,\"y\":", 0, CUZK_MALFORMED, "vanilla_proofs", "type"},
        {"\"vanilla_proofs\":", "\"y\":", 0, CUZK_MALFORMED, "$", "vanilla_proofs"},
        {"\"comm_d\":[112", "\"comm_d\":[\"a\",112", 0, CUZK_MALFORMED, "comm_d", "byte"},
        {"\"comm_d\":[", "\"comm_d\":\"00\",\"z\":[", 0, CUZK_MALFORMED, "comm_d", "type"},
        {"\"seed\":", "\"sEed\":", 0, CUZK_MALFORMED, "$", "seed"},
        {",\"ticket\":", ",\"SectorNum\":-1,\"ticket\":", 0, CUZK_MALFORMED, "SectorNum", "number"},
        {",\"ticket\":", ",\"Phase1Out\":\"e30=\",\"SectorNum\":1,\"SectorSize\":2048,\"ticket\":", 0, CUZK_MALFORMED,
         "$", "wrapper"},
        {"{\"registered_proof\"", "{\"\xff\":1,\"registered_proof\"", 0, CUZK_MALFORMED, "c1.json", ""},
    };
    char *good = read_text(SET("2kib-a", "c1.json"), NULL);
    cuzk_error err;
    assert_int_equal(read_only(good, strlen(good), 0, &err), CUZK_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = replace(good, cases[i].from, cases[i].to, cases[i].nth);
        cuzk_status s = read_only(text, strlen(text), 0, &err);
        if (s != cases[i].status || !strstr(err.where, cases[i].where) || !strstr(err.what, cases[i].what))
            fail_msg("case %zu (%s): status %d, %s: %s", i, cases[i].to, s, err.where, err.what);
        free(text);
    }
    /* Another size asked for. */
    assert_int_equal(read_only(good, strlen(good), (uint64_t)8 << 20, &err), CUZK_FOREIGN);
    /* A node that is not canonical: r itself. */
    char *text = replace(good, "\"leaf\":[",
                         "\"leaf\":[1,0,0,0,255,255,255,255,254,91,254,255,2,164,189,83,5,216,161,9,8,216,57,51,72,125,"
                         "157,41,83,167,237,115],\"q\":[",
                         0);
    assert_int_equal(read_only(text, strlen(text), 0, &err), CUZK_MALFORMED);
    assert_non_null(strstr(err.where, "leaf"));
    assert_non_null(strstr(err.what, "modulus"));
    free(text);
    free(good);
}

static void test_broken_bytes(void **state) {
    (void)state;
    size_t len;
    char *good = read_text(SET("2kib-a", "c1.json"), &len);
    cuzk_error err;
    static const size_t cuts[] = {0, 1, 2, 17, 40, 1000, 5000, 50000};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        assert_int_equal(read_only(good, cuts[i], 0, &err), CUZK_MALFORMED);
    for (size_t cut = 1; cut < 64; cut++) assert_int_equal(read_only(good, len - cut, 0, &err), CUZK_MALFORMED);
    good[len] = 'x'; /* the terminator's place */
    assert_int_equal(read_only(good, len + 1, 0, &err), CUZK_MALFORMED);
    size_t deep = 200000;
    char *nest = malloc(deep);
    memset(nest, '[', deep);
    assert_int_equal(read_only(nest, deep, 0, &err), CUZK_MALFORMED);
    memset(nest, 0, 1000);
    assert_int_equal(read_only(nest, 1000, 0, &err), CUZK_MALFORMED);
    free(nest);
    static const char *const small[] = {"[1,2,3]",
                                        "{}",
                                        "null",
                                        "\"x\"",
                                        "7",
                                        "{\"Phase1Out\":\"\",\"SectorNum\":1,\"SectorSize\":2048}",
                                        "{\"Phase1Out\":\"e3-=\",\"SectorNum\":1,\"SectorSize\":2048}",
                                        "{\"Phase1Out\":\"e30=\",\"SectorSize\":2048}",
                                        "{\"Phase1Out\":\"e30=\",\"SectorNum\":1,\"SectorSize\":2048}",
                                        "{\"Phase1Out\":{},\"SectorNum\":1,\"SectorSize\":2048}"};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        assert_int_equal(read_only(small[i], strlen(small[i]), 0, &err), CUZK_MALFORMED);
    free(good);
}

/* Whole jobs: what the reader alone cannot see. */
static void test_disagreement(void **state) {
    (void)state;
    static const struct {
        const char *c1_from, *c1_to, *request_from, *request_to;
        cuzk_status status;
        const char *what;
    } cases[] = {
        {"", "", "", "", CUZK_OK, ""},
        {"", "", "1302265", "1302266", CUZK_FOREIGN, "replica_id"},
        {"", "", "1302265", "9259733836259213201", CUZK_FOREIGN, "replica_id"},
        {"", "", "1302265", "18446744073709551616", CUZK_MALFORMED, "sector_number"},
        {"", "", "117414", "117415", CUZK_FOREIGN, "miner_id"},
        {"", "", "\"4985", "\"5985", CUZK_FOREIGN, "ticket"},
        {"", "", "\"70ae22972a35457129c1366762580e7ac68a3a6c5221aa2a68e5db3808cc4919\",\n  \"comm_r\"",
         "\"71ae22972a35457129c1366762580e7ac68a3a6c5221aa2a68e5db3808cc4919\",\n  \"comm_r\"", CUZK_FOREIGN, "comm_d"},
        {"", "", "\"68bc", "\"69bc", CUZK_FOREIGN, "comm_r"},
        {"", "", "\"e49c", "\"e49d", CUZK_FOREIGN, "seed"},
        {"", "", "\"porep_id\": \"05", "\"porep_id\": \"06", CUZK_FOREIGN, "replica_id"},
        {"", "", "\"StackedDrg2KiBV1_1\"", "\"StackedDrg2KiBV1\"", CUZK_FOREIGN, "registered proofs"},
        {"", "", "\"StackedDrg2KiBV1_1\"", "\"StackedDrg8MiBV1_1\"", CUZK_FOREIGN, "sector size"},
        {"", "", "\"StackedDrg2KiBV1_1\"", "\"RegisteredSealProof_StackedDrg2KiBV1_1\"", CUZK_OK, ""},
        {"", "", "\"StackedDrg2KiBV1_1\"", "5", CUZK_OK, ""},
        {"", "", "\"StackedDrg2KiBV1_1\"", "\"StackedDrg2KiBV9\"", CUZK_FOREIGN, "registered_proof"},
        {"", "", "\"1.1.0\"", "\"1.3.0\"", CUZK_MALFORMED, "api_version"},
        {"", "", "\"prover_id\": \"a6", "\"prover_id\": \"0xa6", CUZK_MALFORMED, "prover_id"},
        {"", "", "\"prover_id\"", "\"other\"", CUZK_OK, ""},
        {"\"replica_id\":[186", "\"replica_id\":[187", "", "", CUZK_FOREIGN, "replica_id"},
        {"\"StackedDrg2KiBV1_1\"", "\"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep\"", "\"StackedDrg2KiBV1_1\"",
         "\"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep\"", CUZK_FOREIGN, ""},
    };
    char *good_c1 = read_text(SET("2kib-a", "c1.json"), NULL),
         *good_request = read_text(SET("2kib-a", "sector.json"), NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        job j;
        cuzk_error err;
        char *c1 = replace(good_c1, cases[i].c1_from, cases[i].c1_to, 0);
        char *request = replace(good_request, cases[i].request_from, cases[i].request_to, 0);
        write_text(in_folder("c1.json"), c1, strlen(c1));
        write_text(in_folder("request.json"), request, strlen(request));
        cuzk_status s = open_files(&j, in_folder("c1.json"), in_folder("request.json"), 0, false, &err);
        if (s != cases[i].status || !strstr(err.what, cases[i].what))
            fail_msg("case %zu: status %d, %s: %s", i, s, err.where, err.what);
        if (s == CUZK_OK) job_close(&j);
        free(c1);
        free(request);
    }
    job j;
    cuzk_error err;
    static const char zeros[] = "\"seed\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"y\":";
    char *c1 = replace(good_c1, "\"seed\":", zeros, 0);
    write_text(in_folder("c1.json"), c1, strlen(c1));
    assert_int_equal(open_files(&j, in_folder("c1.json"), NULL, 0, false, &err), CUZK_MALFORMED);
    assert_non_null(strstr(err.what, "seed"));
    free(c1);
    c1 = replace(good_c1, "\"StackedDrg2KiBV1_1\"", "\"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep\"", 0);
    write_text(in_folder("c1.json"), c1, strlen(c1));
    assert_int_equal(open_files(&j, in_folder("c1.json"), NULL, 0, false, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.what, "partitions"));
    free(c1);
    free(good_c1);
    free(good_request);
}

static void test_names(void **state) {
    (void)state;
    circuit c;
    cuzk_error err;
    assert_int_equal(circuit_open(&c, "porep", 2048, "ni", &err), CUZK_OK);
    assert_string_equal(c.name, "porep-ni-2kib");
    assert_int_equal(c.partitions, 13);
    char name[300];
    circuit_file_name(&c, "vk", name, sizeof name);
    assert_string_equal(name, "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-"
                              "032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f.vk");
    assert_int_equal(c.kind->public_count(&c), 39);
    circuit_close(&c);
    assert_int_equal(circuit_open(&c, "porep", (uint64_t)64 << 30, NULL, &err), CUZK_OK);
    assert_string_equal(c.name, "porep-64gib");
    assert_int_equal(c.kind->public_count(&c), 327);
    circuit_close(&c);
    assert_int_equal(circuit_open(&c, "porep", 2049, "", &err), CUZK_USAGE);
    assert_int_equal(circuit_open(&c, "porep", 2048, "poseidon", &err), CUZK_USAGE);
    assert_int_equal(circuit_open(&c, "other", 2048, "", &err), CUZK_USAGE);
    for (const uint64_t *s = circuit_kind_find("porep")->sizes; *s; s++) {
        assert_int_equal(circuit_open(&c, "porep", *s, "", &err), CUZK_OK);
        circuit_close(&c);
    }
}

/* ---- tampering ---- */

typedef struct flip {
    fr *value;
    uint64_t *number;
    uint32_t *small;
    uint32_t small_to;
    const char *part;
} flip;

static void bump(const flip *f, bool back) {
    static fr kept;
    static uint64_t kept_number;
    static uint32_t kept_small;
    fr one;
    fr_set_one(&one);
    if (f->value) {
        if (!back)
            kept = *f->value, fr_add(f->value, f->value, &one);
        else
            *f->value = kept;
    }
    if (f->number) {
        if (!back)
            kept_number = *f->number, *f->number ^= 1;
        else
            *f->number = kept_number;
    }
    if (f->small) {
        if (!back)
            kept_small = *f->small, *f->small = f->small_to == UINT32_MAX ? kept_small ^ 1 : f->small_to;
        else
            *f->small = kept_small;
    }
}

/* Another seed gives other challenges, another API version other parents, another comm_d another root. */
static void other_facts(porep_job *j, porep_partition *q, pool *workers) {
    cuzk_error err;
    j->seed[0] ^= 1;
    assert_int_equal(porep_vanilla_check(j, workers, NULL, &err), CUZK_UNSATISFIED);
    assert_non_null(strstr(err.where, "partition 0, challenge 0"));
    j->seed[0] ^= 1;
    j->registered.api_version = 100;
    assert_int_equal(porep_vanilla_check(j, workers, NULL, &err), CUZK_UNSATISFIED);
    assert_non_null(strstr(err.where, "drg parent"));
    j->registered.api_version = 110;
    q->comm_d = q->comm_r;
    assert_int_equal(porep_vanilla_check(j, workers, NULL, &err), CUZK_UNSATISFIED);
    assert_non_null(strstr(err.where, "tree D"));
}

static void test_tampering(void **state) {
    (void)state;
    cuzk_error err;
    arena *a = arena_create(BUFFER_OTHER, 0, &err);
    porep_params p;
    porep_request facts;
    porep_sector s;
    porep_c1 c1;
    assert_true(porep_params_custom(&p, 1024, 8, 8, 2, 3, 2));
    p.partitions = 2;
    porep_sector_worked_facts(&facts, "StackedDrg2KiBV1_1");
    porep_sector_seal(&s, a, &p, &facts);
    porep_sector_prove(&c1, a, &s);
    porep_job j = {.registered = facts.registered, .params = &p, .partitions = c1.partitions, .n_partitions = 2};
    memcpy(j.replica_id, s.replica_id, 32);
    memcpy(j.comm_r, s.facts.comm_r, 32);
    memcpy(j.seed, facts.seed, 32);
    pool *workers = pool_create(3, &err);
    assert_int_equal(porep_vanilla_check(&j, workers, NULL, &err), CUZK_OK);

    /* Everything below borrows from the arena, so it may be written through. */
    porep_partition *q = &c1.partitions[1];
    porep_challenge *c = (porep_challenge *)&q->challenges[1];
    porep_labeling *labels = (porep_labeling *)c->labels;
#define SIBLING(path, l, k) ((fr *)&(path).level[l].siblings[k])
#define INDEX(path, l) ((uint32_t *)&(path).level[l].index)
    const flip flips[] = {
        {.value = &c->d.leaf, .part = "tree D"},
        {.value = &c->d.root, .part = "tree D"},
        {.value = SIBLING(c->d, 9, 0), .part = "tree D"},
        {.small = INDEX(c->d, 0), .small_to = UINT32_MAX, .part = "tree D"},
        {.value = &c->r.leaf, .part = "tree R"},
        {.value = &c->r.root, .part = "tree R"},
        {.value = SIBLING(c->r, 0, 6), .part = "tree R"},
        {.value = SIBLING(c->r, 2, 0), .part = "tree R"},
        {.value = SIBLING(c->r, 3, 0), .part = "tree R"},
        {.small = INDEX(c->r, 3), .small_to = UINT32_MAX, .part = "tree R"},
        {.value = (fr *)&c->x.rows[1], .part = "column of the challenge"},
        {.value = &c->x.path.leaf, .part = "column of the challenge"},
        {.value = &c->x.path.root, .part = "column of the challenge"},
        {.number = &c->x.index, .part = "column of the challenge"},
        {.value = (fr *)&c->drg[0].rows[0], .part = "column of drg parent 0"},
        {.value = (fr *)&c->drg[5].rows[2], .part = "column of drg parent 5"},
        {.value = SIBLING(c->drg[3].path, 1, 4), .part = "column of drg parent 3"},
        {.small = INDEX(c->drg[3].path, 1), .small_to = UINT32_MAX, .part = "column of drg parent 3"},
        {.number = &c->drg[2].index, .part = "column of drg parent 2"},
        {.value = &c->drg[4].path.root, .part = "column of drg parent 4"},
        {.value = (fr *)&c->exp[7].rows[2], .part = "column of expander parent 7"},
        {.number = &c->exp[0].index, .part = "column of expander parent 0"},
        {.value = &c->exp[6].path.leaf, .part = "column of expander parent 6"},
        {.value = (fr *)&labels[0].parents[36], .part = "label of layer 1"},
        {.value = (fr *)&labels[2].parents[14], .part = "label of layer 3"},
        {.number = &labels[0].node, .part = "label of layer 1"},
        {.number = &labels[2].node, .part = "label of layer 3"},
        {.small = &labels[1].layer, .small_to = 3, .part = "label of layer 2"},
        {.value = (fr *)&c->encoding.parents[0], .part = "encoding"},
        {.number = &c->encoding.node, .part = "encoding"},
        {.small = &c->encoding.layer, .small_to = 2, .part = "encoding"},
        {.value = &q->comm_r, .part = "commitments"},
    };
    for (size_t i = 0; i < sizeof flips / sizeof flips[0]; i++) {
        bump(&flips[i], false);
        cuzk_status st = porep_vanilla_check(&j, i % 2 ? workers : NULL, NULL, &err);
        bump(&flips[i], true);
        const char *challenge = flips[i].value == &q->comm_r ? "partition 1, challenge 0" : "partition 1, challenge 1";
        if (st != CUZK_UNSATISFIED || !strstr(err.where, challenge) || !strstr(err.where, flips[i].part))
            fail_msg("flip %zu: status %d, %s: %s", i, st, err.where, err.what);
    }
    assert_int_equal(porep_vanilla_check(&j, workers, NULL, &err), CUZK_OK);

    other_facts(&j, q, workers);
    pool_destroy(workers);
    arena_destroy(a);
}

/* A true label is part of the witness: rows, leaf and tree all made for a false one must still be found. */
static void test_false_label(void **state) {
    (void)state;
    cuzk_error err;
    arena *a = arena_create(BUFFER_OTHER, 0, &err);
    porep_params p;
    porep_request facts;
    porep_sector s;
    porep_c1 c1;
    assert_true(porep_params_for(&p, 2048, "ni"));
    porep_sector_worked_facts(&facts, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep");
    porep_sector_seal(&s, a, &p, &facts);
    porep_sector_prove(&c1, a, &s);
    porep_job j = {.registered = facts.registered, .params = &p, .partitions = c1.partitions, .n_partitions = 13};
    memcpy(j.replica_id, s.replica_id, 32);
    memcpy(j.comm_r, s.facts.comm_r, 32);
    assert_int_equal(porep_vanilla_check(&j, NULL, NULL, &err), CUZK_OK);
    /* The labels were made for this replica id; another one keeps all trees and breaks only labels (the challenges of
     * the kind would change too, so they are drawn for the old one by handing the numbers on). */
    porep_c1 other;
    porep_sector false_s = s;
    false_s.replica_id[0] ^= 1;
    porep_sector_prove(&other, a, &false_s);
    memcpy(j.replica_id, false_s.replica_id, 32);
    j.partitions = other.partitions;
    assert_int_equal(porep_vanilla_check(&j, NULL, NULL, &err), CUZK_UNSATISFIED);
    assert_non_null(strstr(err.where, "label of layer 1"));
    arena_destroy(a);
}

/* Non-interactive: written, read as a job with its 13 partitions. */
static void test_non_interactive(void **state) {
    (void)state;
    cuzk_error err;
    arena *a = arena_create(BUFFER_OTHER, 0, &err);
    porep_params p;
    porep_request facts;
    porep_sector s;
    porep_c1 c1;
    buffer out;
    size_t len;
    assert_true(porep_params_for(&p, 2048, "ni"));
    porep_sector_worked_facts(&facts, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep");
    memset(facts.seed, 0, 32); /* has no part in this kind */
    porep_sector_seal(&s, a, &p, &facts);
    porep_sector_prove(&c1, a, &s);
    assert_int_equal(porep_c1_write(&out, &len, &c1, &err), CUZK_OK);
    write_text(in_folder("c1.json"), out.data, len);
    job j;
    if (open_files(&j, in_folder("c1.json"), NULL, 0, false, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(j.partitions, 13);
    assert_string_equal(j.circuit.name, "porep-ni-2kib");
    assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_OK);
    job_close(&j);
    buffer_free(&out);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_facts_only),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_changed_documents),
        cmocka_unit_test(test_broken_bytes),
        cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_tampering),
        cmocka_unit_test(test_false_label),
        cmocka_unit_test(test_non_interactive),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
