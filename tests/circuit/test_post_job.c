/* PoSt jobs: the reference's sets read, checked, their public inputs and whole assignments; partitions and padding; the
 * bits that tampered.json flips found; what must be refused.
 *
 * tests/data/winning-post-* and window-post-* are real sectors' proofs. Proofs are changed as bytes, requests as text.
 */
#include "base/json.h"
#include "base/text.h"
#include "circuit/job.h"
#include "circuit/post/post.h"
#include "r1cs/witness.h"
#include "ref/job_folder.h"
#include "ref/sources.h"

#define DATA TEST_DATA "/"
#define WINNING DATA "winning-post-2kib-a/"
#define WINDOW_1 DATA "window-post-2kib-1/"
#define WINDOW_3 DATA "window-post-2kib-3/"

typedef struct case_files {
    const char *kind, *request;
    const char *vanilla[4];
    size_t n;
    uint64_t size;
    bool facts;
} case_files;

static cuzk_status open_case(job *j, const case_files *c, cuzk_error *err) {
    job_source sources[4];
    job_files files = {.request.path = c->request,
                       .vanilla = sources_of(sources, c->vanilla, c->n),
                       .n_vanilla = c->n,
                       .size_override = c->size};
    memset(err, 0, sizeof *err);
    return job_open(j, c->kind, &files, c->facts, err);
}

static void must_open(job *j, const case_files *c) {
    cuzk_error err;
    if (open_case(j, c, &err) != CUZK_OK)
        fail_msg("%s: %s (expected %s, found %s)", err.where, err.what, err.expected, err.found);
}

/* ---- the reference's sets ---- */

static const case_files sets[] = {{"winning-post", WINNING "request.json", {WINNING "vanilla-0.bin"}, 1, 0, false},
                                  {"window-post", WINDOW_1 "request.json", {WINDOW_1 "vanilla-0.bin"}, 1, 0, false},
                                  {"window-post",
                                   DATA "window-post-2kib-2/request.json",
                                   {DATA "window-post-2kib-2/vanilla-0.bin", DATA "window-post-2kib-2/vanilla-1.bin"},
                                   2,
                                   0,
                                   false},
                                  {"window-post",
                                   WINDOW_3 "request.json",
                                   {WINDOW_3 "vanilla-0.bin", WINDOW_3 "vanilla-1.bin", WINDOW_3 "vanilla-2.bin"},
                                   3,
                                   0,
                                   false}};
static const unsigned set_partitions[] = {1, 1, 1, 2};

static void folder_of(char *out, size_t n, const char *request) {
    snprintf(out, n, "%.*s", (int)(strrchr(request, '/') - request), request);
}

static void same_inputs(const job *j, unsigned partition, const char *path) {
    size_t n = j->circuit.kind->public_count(&j->circuit);
    fr *inputs = calloc(n, sizeof *inputs);
    char *text = read_whole(path, NULL), *rest = text, hex[65];
    j->circuit.kind->public_inputs(j, partition, inputs);
    for (size_t i = 0; i < n; i++, rest += 65) {
        uint8_t b[32];
        fr_to_be_bytes(b, &inputs[i]);
        text_hex(hex, b, 32);
        assert_memory_equal(hex, rest, 64);
        assert_int_equal(rest[64], '\n');
    }
    assert_int_equal(*rest, 0);
    free(text);
    free(inputs);
}

static void same_assignment(const job *j, unsigned partition, const json_node *proof) {
    shape *s;
    witness w;
    cuzk_error err;
    uint8_t inputs[32], aux[32];
    char hex[65];
    uint64_t bad;
    const circuit *c = &j->circuit;
    assert_int_equal(shape_record(&s, c->kind->synthesize, c->params, NULL, &err), CUZK_OK);
    assert_int_equal(witness_write(&w, s, c->kind->synthesize, c->params, c->kind->instance(j, partition), &err),
                     CUZK_OK);
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

static void test_sets(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char dir[256], path[320];
        cuzk_error err;
        job j, facts;
        case_files alone = sets[i];
        json_node *meta;
        size_t len;
        folder_of(dir, sizeof dir, sets[i].request);
        alone.facts = true;
        alone.n = 0;
        must_open(&j, &sets[i]);
        must_open(&facts, &alone);
        assert_int_equal(j.partitions, set_partitions[i]);
        assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_OK);
        assert_int_equal(facts.circuit.kind->job_check(&facts, NULL, NULL, &err), CUZK_USAGE);
        snprintf(path, sizeof path, "%s/set.json", dir);
        char *text = read_whole(path, &len);
        assert_int_equal(json_tree(&meta, j.memory, path, text, len, 1 << 20, &err), CUZK_OK);
        assert_string_equal(j.circuit.name, json_member(meta, "circuit")->text);
        for (unsigned k = 0; k < j.partitions; k++) {
            snprintf(path, sizeof path, "%s/inputs-%u.txt", dir, k);
            same_inputs(&j, k, path);
            same_inputs(&facts, k, path);
            same_assignment(&j, k, json_at(json_member(meta, "proofs"), k));
        }
        free(text);
        job_close(&j);
        job_close(&facts);
    }
}

/* ---- changed requests ---- */

/* A request written by hand; sectors and more are JSON text. */
static const char *write_request(const char *registered, const char *randomness, const char *sectors,
                                 const char *more) {
    char text[2048];
    snprintf(text, sizeof text, "{\"registered_proof\": %s, \"randomness\": %s, \"sectors\": %s%s}", registered,
             randomness, sectors, more);
    return write_file("request.json", text, strlen(text));
}

#define COMM_R_7 "b73772d2d327401cae95a20162f94b7e55e0106ce9df28fd6fbafe3448f5c220"
#define COMM_R_300 "826654614834ede8adeace4c0d6eab36b4b7782005b32dca4b63166ae6e7e767"
#define SECTOR_7 "{\"number\": 7, \"comm_r\": \"" COMM_R_7 "\"}"
#define SECTOR_300 "{\"number\": 300, \"comm_r\": \"" COMM_R_300 "\"}"
#define RANDOMNESS_1 "\"4e782bb1d69f2fdbd89582b7070cb27a93c8a6767e10794d2dcbc650763a0f27\""

static const char window_12[] = "\"StackedDrgWindow2KiBV1_2\"";

/* Both spellings and the number of a registered proof; a request of the least that counts. */
static void test_least_request(void **state) {
    (void)state;
    static const char *const names[] = {"\"StackedDrgWindow2KiBV1_2\"", "\"StackedDrgWindow2KiBV1_1\"", "10",
                                        "\"RegisteredPoStProof_StackedDrgWindow2KiBV1_1\""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        job j;
        cuzk_error err;
        case_files c = sets[1];
        c.request = write_request(names[i], RANDOMNESS_1, "[" SECTOR_7 "]", "");
        must_open(&j, &c);
        assert_int_equal(j.circuit.kind->job_check(&j, NULL, NULL, &err), CUZK_OK);
        same_inputs(&j, 0, WINDOW_1 "inputs-0.txt");
        job_close(&j);
    }
}

/* Position counts in 1.0.0 and not in 1.2.0: the first sector's challenges, then those of another partition. */
static void test_partition_index(void **state) {
    (void)state;
    for (int old = 0; old < 2; old++) {
        fr first[22], third[22], plain[22];
        job j;
        case_files c = {.kind = "window-post", .facts = true};
        const char *name = old ? "\"StackedDrgWindow2KiBV1\"" : window_12;
        c.request = write_request(name, RANDOMNESS_1, "[" SECTOR_7 "," SECTOR_300 "]", "");
        must_open(&j, &c);
        j.circuit.kind->public_inputs(&j, 0, plain);
        job_close(&j);
        c.request = write_request(name, RANDOMNESS_1, "[" SECTOR_7 "," SECTOR_300 "]", ", \"partition_index\": 0");
        must_open(&j, &c);
        j.circuit.kind->public_inputs(&j, 0, first);
        job_close(&j);
        c.request = write_request(name, RANDOMNESS_1, "[" SECTOR_7 "," SECTOR_300 "]", ", \"partition_index\": 3");
        must_open(&j, &c);
        assert_int_equal(j.partitions, 1);
        j.circuit.kind->public_inputs(&j, 0, third);
        assert_memory_equal(plain, first, sizeof plain);
        if (!old) assert_memory_equal(first, third, sizeof first);
        if (old) assert_memory_not_equal(first, third, sizeof first);
        /* Sector 300 of partition 3 with two slots: position 7, so its first challenge number is 70. */
        const post_job *f = j.data;
        uint64_t want[POST_MAX_CHALLENGES];
        fr v;
        post_challenges(f->params, old ? 100 : 120, f->request.randomness, 300, 7, want);
        fr_from_u64(&v, want[0]);
        assert_true(fr_eq(&v, &third[12]));
        job_close(&j);
    }
}

/* Three sectors of 1.0.0 in two partitions: the same as the second alone with its index; the padded slot is a copy. */
static void test_partitions_and_padding(void **state) {
    (void)state;
    fr whole[22], alone[22];
    job j;
    case_files c = {.kind = "window-post", .facts = true};
    static const char third[] = "{\"number\": 70001, \"comm_r\": \"" COMM_R_7 "\"}";
    char sectors[600];
    snprintf(sectors, sizeof sectors, "[%s,%s,%s]", SECTOR_7, SECTOR_300, third);
    c.request = write_request("\"StackedDrgWindow2KiBV1\"", RANDOMNESS_1, sectors, "");
    must_open(&j, &c);
    assert_int_equal(j.partitions, 2);
    j.circuit.kind->public_inputs(&j, 1, whole);
    job_close(&j);
    assert_memory_equal(whole, whole + 11, 11 * sizeof(fr));
    snprintf(sectors, sizeof sectors, "[%s]", third);
    c.request = write_request("\"StackedDrgWindow2KiBV1\"", RANDOMNESS_1, sectors, ", \"partition_index\": 1");
    must_open(&j, &c);
    j.circuit.kind->public_inputs(&j, 0, alone);
    job_close(&j);
    assert_memory_equal(whole, alone, sizeof whole);
}

static void refuse_request(const char *kind, const char *registered, const char *randomness, const char *sectors,
                           const char *more, cuzk_status want, const char *place) {
    job j;
    cuzk_error err;
    case_files c = {.kind = kind, .facts = true};
    c.request = write_request(registered, randomness, sectors, more);
    cuzk_status s = open_case(&j, &c, &err);
    if (s == CUZK_OK) fail_msg("taken: %s %s %s %s", registered, randomness, sectors, more);
    if (s != want || !strstr(err.where, place)) fail_msg("status %d, %s: %s", (int)s, err.where, err.what);
}

static void test_bad_requests(void **state) {
    (void)state;
    static const char window[] = "window-post", r[] = RANDOMNESS_1;
    static const char top_bit[] = "\"4e782bb1d69f2fdbd89582b7070cb27a93c8a6767e10794d2dcbc650763a0fa7\"";
    static const char modulus[] = "\"01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73\"";
    refuse_request(window, window_12, top_bit, "[" SECTOR_7 "]", "", CUZK_MALFORMED, "$.randomness");
    refuse_request(window, window_12, modulus, "[" SECTOR_7 "]", "", CUZK_MALFORMED, "$.randomness");
    refuse_request(window, window_12, "\"4e\"", "[" SECTOR_7 "]", "", CUZK_MALFORMED, "$.randomness");
    refuse_request(window, window_12, "7", "[" SECTOR_7 "]", "", CUZK_MALFORMED, "$.randomness");
    refuse_request(window, window_12, r, "[]", "", CUZK_MALFORMED, "$.sectors");
    refuse_request(window, window_12, r, "7", "", CUZK_MALFORMED, "$.sectors");
    refuse_request(window, window_12, r, "[7]", "", CUZK_MALFORMED, "$.sectors[0]");
    refuse_request(window, window_12, r, "[{\"number\": 7}]", "", CUZK_MALFORMED, "$.sectors[0]");
    refuse_request(window, window_12, r, "[{\"comm_r\": \"" COMM_R_7 "\"}]", "", CUZK_MALFORMED, "$.sectors[0]");
    refuse_request(window, window_12, r, "[" SECTOR_300 "," SECTOR_7 "]", "", CUZK_MALFORMED, "$.sectors[1].number");
    refuse_request(window, window_12, r, "[" SECTOR_7 "," SECTOR_7 "]", "", CUZK_MALFORMED, "$.sectors[1].number");
    refuse_request(window, window_12, r, "[" SECTOR_7 ", {\"number\": -1, \"comm_r\": \"" COMM_R_7 "\"}]", "",
                   CUZK_MALFORMED, "$.sectors[1].number");
    refuse_request(window, window_12, r,
                   "[" SECTOR_7 ", {\"number\": 18446744073709551616, \"comm_r\": \"" COMM_R_7 "\"}]", "",
                   CUZK_MALFORMED, "$.sectors[1].number");
    char zero[160];
    snprintf(zero, sizeof zero, "[{\"number\": 7, \"comm_r\": \"%064d\"}]", 0);
    refuse_request(window, window_12, r, zero, "", CUZK_MALFORMED, "$.sectors[0].comm_r");
    char big[160];
    snprintf(big, sizeof big, "[{\"number\": 7, \"comm_r\": %s}]", modulus);
    refuse_request(window, window_12, r, big, "", CUZK_MALFORMED, "$.sectors[0].comm_r");
    refuse_request(window, window_12, r, "[" SECTOR_7 "]", ", \"partition_index\": 4294967296", CUZK_MALFORMED,
                   "$.partition_index");
    refuse_request(window, window_12, r, "[" SECTOR_7 "]", ", \"partition_index\": -1", CUZK_MALFORMED,
                   "$.partition_index");
    refuse_request(window, window_12, r,
                   "[" SECTOR_7 "," SECTOR_300 ", {\"number\": 301, \"comm_r\": \"" COMM_R_7 "\"}]",
                   ", \"partition_index\": 0", CUZK_FOREIGN, "$.sectors");
    refuse_request(window, "\"StackedDrgWinning2KiBV1\"", r, "[" SECTOR_7 "]", "", CUZK_FOREIGN, "$.registered_proof");
    refuse_request(window, "\"StackedDrg2KiBV1_1\"", r, "[" SECTOR_7 "]", "", CUZK_FOREIGN, "$.registered_proof");
    refuse_request(window, "15", r, "[" SECTOR_7 "]", "", CUZK_MALFORMED, "$.registered_proof");
    refuse_request(window, "null", r, "[" SECTOR_7 "]", "", CUZK_MALFORMED, "$.registered_proof");
    refuse_request("winning-post", window_12, r, "[" SECTOR_7 "]", "", CUZK_FOREIGN, "$.registered_proof");
    refuse_request("winning-post", "\"StackedDrgWinning2KiBV1\"", r, "[" SECTOR_7 "," SECTOR_300 "]", "", CUZK_FOREIGN,
                   "$.sectors");
    refuse_request(window, window_12, r, "[" SECTOR_7 "]",
                   ", \"miner_id\": 1001, "
                   "\"prover_id\": \"e807000000000000000000000000000000000000000000000000000000000000\"",
                   CUZK_FOREIGN, "$.prover_id");
    refuse_request(window, window_12, r, "[" SECTOR_7 "]",
                   ", \"prover_id\": \"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\"",
                   CUZK_MALFORMED, "$.prover_id");
    refuse_request(window, window_12, r, "[" SECTOR_7 "], \"x\": [}", "", CUZK_MALFORMED, "request.json");
}

/* ---- changed vanilla proofs ---- */

static cuzk_status judge(const case_files *c, cuzk_error *err) {
    job j;
    cuzk_status s = open_case(&j, c, err);
    if (s != CUZK_OK) return s;
    s = j.circuit.kind->job_check(&j, NULL, NULL, err);
    job_close(&j);
    return s;
}

static void test_tampered(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char dir[256], path[320];
        cuzk_error err;
        json_node *all;
        size_t len, proof_len;
        unsigned seen = 0;
        folder_of(dir, sizeof dir, sets[i].request);
        snprintf(path, sizeof path, "%s/tampered.json", dir);
        char *text = read_whole(path, &len), *proof = read_whole(sets[i].vanilla[0], &proof_len);
        arena *a = arena_create(BUFFER_OTHER, 0, &err);
        assert_int_equal(json_tree(&all, a, path, text, len, 1 << 20, &err), CUZK_OK);
        for (const json_node *m = all->first; m; m = m->next, seen++) {
            unsigned bit = 99;
            size_t byte = SIZE_MAX;
            assert_int_equal(sscanf(m->key, "bit %u", &bit), 1);
            assert_int_equal(sscanf(strstr(m->key, "(byte "), "(byte %zu", &byte), 1);
            assert_true(byte < proof_len && bit < 8);
            case_files c = sets[i];
            proof[byte] = (char)(proof[byte] ^ 1 << bit);
            c.vanilla[0] = write_file("vanilla.bin", proof, proof_len);
            cuzk_status s = judge(&c, &err);
            proof[byte] = (char)(proof[byte] ^ 1 << bit);
            if (s != CUZK_UNSATISFIED && s != CUZK_FOREIGN) fail_msg("%s: status %d", m->key, (int)s);
            assert_int_not_equal(err.where[0], 0);
            /* The place that was changed is the place that is named. */
            const char *numbered = strstr(m->key, "inclusion proof ");
            if (numbered) {
                char want[32];
                snprintf(want, sizeof want, "challenge %d ", atoi(numbered + 16));
                if (!strstr(err.where, want)) fail_msg("%s: %s", m->key, err.where);
            }
        }
        assert_true(seen >= 10);
        arena_destroy(a);
        free(text);
        free(proof);
    }
}

/* Every byte of a proof has a say: one bit of each eighth byte flipped. */
static void test_every_byte(void **state) {
    (void)state;
    size_t len;
    char *proof = read_whole(WINDOW_1 "vanilla-0.bin", &len);
    for (size_t at = 0; at < len; at += 8) {
        case_files c = sets[1];
        cuzk_error err;
        proof[at] = (char)(proof[at] ^ 1);
        c.vanilla[0] = write_file("vanilla.bin", proof, len);
        if (judge(&c, &err) == CUZK_OK) fail_msg("byte %zu does not count", at);
        proof[at] = (char)(proof[at] ^ 1);
    }
    free(proof);
}

static void expect(const case_files *c, cuzk_status want, const char *what, const char *where) {
    cuzk_error err = {0};
    cuzk_status s = judge(c, &err);
    if (s != want || !strstr(err.what, what) || !strstr(err.where, where))
        fail_msg("status %d (want %d), %s: %s", (int)s, (int)want, err.where, err.what);
}

static void test_foreign_files(void **state) {
    (void)state;
    case_files c = sets[3];
    c.vanilla[0] = sets[3].vanilla[1];
    c.vanilla[1] = sets[3].vanilla[0];
    expect(&c, CUZK_FOREIGN, "another sector", "sectors[0]");
    c = sets[3];
    c.n = 2;
    expect(&c, CUZK_FOREIGN, "not one vanilla proof", "");
    c.n = 4;
    c.vanilla[3] = c.vanilla[2];
    expect(&c, CUZK_FOREIGN, "not one vanilla proof", "");
    /* Another deadline's proof of the same sector: its leaves are not the challenged ones. */
    c = sets[1];
    c.vanilla[0] = sets[2].vanilla[0];
    expect(&c, CUZK_UNSATISFIED, "false", "partition 0, sector 7 ");
    /* A winning proof where a window proof belongs, and the other way round. */
    c.vanilla[0] = sets[0].vanilla[0];
    expect(&c, CUZK_FOREIGN, "length", "byte 48, number of inclusion proofs");
    c = sets[0];
    c.vanilla[0] = sets[1].vanilla[0];
    expect(&c, CUZK_FOREIGN, "length", "byte 48, number of inclusion proofs");
    /* Another sector size. */
    c = sets[1];
    c.size = 8 << 20;
    expect(&c, CUZK_FOREIGN, "length", "inclusion proof 0, path of the base tree, number of levels");
    c.size = 16384;
    expect(&c, CUZK_FOREIGN, "shape", "inclusion proof 0, kind of tree");
    c.size = 3000;
    expect(&c, CUZK_USAGE, "no circuit", "");
    c.size = 0;
    c.vanilla[0] = DATA "there-is-no-such-file";
    expect(&c, CUZK_IO, "", "there-is-no-such-file");
    c.vanilla[0] = sets[1].vanilla[0];
    c.request = NULL;
    expect(&c, CUZK_USAGE, "no request", "");
    c = sets[1];
    c.n = 0;
    expect(&c, CUZK_USAGE, "no vanilla proof", "");
}

static void test_broken_bytes(void **state) {
    (void)state;
    size_t len;
    uint8_t *proof = (uint8_t *)read_whole(WINDOW_1 "vanilla-0.bin", &len), *longer = calloc(1, len + 1);
    case_files c = sets[1];
    static const size_t cuts[] = {0, 1, 8, 39, 40, 47, 55, 56, 59, 60, 124, 131, 500, 612, 5616, 5648, 5679};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        c.vanilla[0] = write_file("vanilla.bin", proof, cuts[i]);
        expect(&c, CUZK_MALFORMED, "cut off", "byte ");
    }
    memcpy(longer, proof, len);
    c.vanilla[0] = write_file("vanilla.bin", longer, len + 1);
    expect(&c, CUZK_MALFORMED, "follow", "byte 5680");
    static const struct {
        size_t at;
        const char *where;
    } lengths[] = {{40, "byte 40, number of sector proofs"},
                   {48, "byte 48, number of inclusion proofs"},
                   {124, "byte 124, inclusion proof 0, path of the base tree, number of levels"},
                   {132, "byte 132, inclusion proof 0, path of the base tree, level 0, number of hashes"},
                   {688, "byte 688, inclusion proof 1, path of the base tree, level 0, number of hashes"}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memcpy(longer, proof, len);
        memset(longer + lengths[i].at, 0xff, 8);
        c.vanilla[0] = write_file("vanilla.bin", longer, len);
        expect(&c, CUZK_MALFORMED, "length", lengths[i].where);
    }
    memcpy(longer, proof, len);
    longer[56] = 9;
    c.vanilla[0] = write_file("vanilla.bin", longer, len);
    expect(&c, CUZK_MALFORMED, "shape", "byte 56, inclusion proof 0, kind of tree");
    memcpy(longer, proof, len);
    memset(longer + 5616, 0xff, 32);
    c.vanilla[0] = write_file("vanilla.bin", longer, len);
    expect(&c, CUZK_MALFORMED, "modulus", "byte 5616, comm_c");
    free(proof);
    free(longer);
}

/* Of several faults the first sector's is told, whatever the number of threads. */
static void test_first_fault(void **state) {
    (void)state;
    cuzk_error err;
    job j;
    pool *workers = pool_create(3, &err);
    must_open(&j, &sets[3]);
    const post_job *f = j.data;
    for (size_t i = 1; i < 3; i++) fr_set_zero((fr *)&f->proofs[i].paths[4].leaf); /* ours: the job's arena */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(j.circuit.kind->job_check(&j, workers, NULL, &err), CUZK_UNSATISFIED);
        assert_non_null(strstr(err.where, "partition 0, sector 300 (number 1 in the request): challenge 4 "));
    }
    job_close(&j);
    pool_destroy(workers);
}

/* A changed value makes the circuit fail where it was changed. */
static void test_circuit_finds_changes(void **state) {
    (void)state;
    job j;
    shape *s;
    witness w;
    uint64_t bad;
    char path[256];
    cuzk_error err;
    must_open(&j, &sets[2]);
    const circuit *c = &j.circuit;
    assert_int_equal(shape_record(&s, c->kind->synthesize, c->params, NULL, &err), CUZK_OK);
    const post_job *f = j.data;
    for (int i = 0; i < 2; i++) {
        fr *value = i == 0 ? (fr *)&f->partitions[0].slots[1].paths[3].leaf : (fr *)&f->partitions[0].slots[0].comm_c;
        fr keep = *value;
        fr_set_zero(value);
        assert_int_equal(witness_write(&w, s, c->kind->synthesize, c->params, c->kind->instance(&j, 0), &err), CUZK_OK);
        assert_int_equal(witness_check(&w, s, &bad, NULL, NULL, &err), CUZK_OK);
        assert_true(bad != UINT64_MAX);
        assert_int_equal(cs_locate(path, sizeof path, bad, c->kind->synthesize, c->params, &err), CUZK_OK);
        assert_string_equal(path, i == 0 ? "sector 1 / challenge 3" : "sector 0");
        witness_free(&w);
        *value = keep;
    }
    shape_destroy(s);
    job_close(&j);
}

static void test_inspect(void **state) {
    (void)state;
    job j;
    size_t len;
    must_open(&j, &sets[0]);
    json_out *o = json_out_create();
    json_begin_object(o);
    j.circuit.kind->inspect(&j, o);
    json_end_object(o);
    const char *text = json_out_text(o, &len);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"registered_proof\":\"StackedDrgWinning2KiBV1\""));
    assert_non_null(strstr(text, "\"miner_id\":1000"));
    assert_non_null(strstr(text, "\"challenges\":[13,11,43,24,57,12,"));
    json_out_destroy(o);
    job_close(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_least_request),
        cmocka_unit_test(test_partition_index),
        cmocka_unit_test(test_partitions_and_padding),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_tampered),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_broken_bytes),
        cmocka_unit_test(test_first_fault),
        cmocka_unit_test(test_circuit_finds_changes),
        cmocka_unit_test(test_inspect),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
