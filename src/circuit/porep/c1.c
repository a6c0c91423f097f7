/* Reader of commit-phase-1 output: the bare JSON, the envelope, and the wrapper with base64 inside.
 *
 * One pass over parser events. A stack of frames follows the document; each frame is a state of a small grammar (the
 * tables below say which member of which object leads to which state), and nodes are written where the challenge keeps
 * them. A challenge's memory is taken when its object begins, of a size that the sector size alone decides; an object
 * that ends without its members is refused at once, so a document cannot claim more memory than it pays for. Members
 * that are not in the tables are skipped. Every length is exact. Source: docs/circuits/porep.md.
 */
#include "circuit/porep/vanilla.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "base/json.h"
#include "base/text.h"

typedef enum {
    S_SKIP, /* inside a member that is not read */
    S_TOP,
    S_VANILLA,
    S_PARTITIONS,
    S_PARTITION,
    S_CHALLENGE,
    S_MERKLE,
    S_CHOICE,
    S_TREE,
    S_PATH_OBJECT,
    S_PATH,
    S_ELEMENT,
    S_NODES,
    S_NODE,
    S_BYTES,
    S_COLUMNS,
    S_COLUMN_LIST,
    S_COLUMN_PROOF,
    S_COLUMN,
    S_LABELS,
    S_LABEL,
    STATES
} state;

enum {
    TOP_REGISTERED,
    TOP_VANILLA,
    TOP_COMM_R,
    TOP_COMM_D,
    TOP_REPLICA_ID,
    TOP_SEED,
    TOP_TICKET,
    TOP_SECTOR_NUM,
    TOP_PHASE1,
    TOP_SECTOR_SIZE
};
enum { CHALLENGE_D, CHALLENGE_R, CHALLENGE_COLUMNS, CHALLENGE_LABELS, CHALLENGE_ENCODING };
enum { CHOICE_SINGLE, CHOICE_SUB, CHOICE_TOP };
enum { TREE_ROOT, TREE_LEAF, TREE_PATH, TREE_BASE, TREE_SUB, TREE_TOP };
enum { ELEMENT_HASHES, ELEMENT_INDEX };
enum { COLUMNS_X, COLUMNS_DRG, COLUMNS_EXP };
enum { COLUMN_PROOF_COLUMN, COLUMN_PROOF_INCLUSION };
enum { COLUMN_INDEX, COLUMN_ROWS };
enum { LABEL_PARENTS, LABEL_LAYER, LABEL_NODE };
#define BIT(i) (1u << (i))
#define MAX_MEMBERS 10

typedef struct form {
    bool array;
    const char *what;                 /* for messages */
    uint32_t required;                /* of an object; TREE, TOP, VANILLA and CHOICE have rules of their own */
    const char *members[MAX_MEMBERS]; /* in the order of the enumerations above */
} form;

static const form forms[STATES] = {
    [S_TOP] = {false,
               "the proof",
               0,
               {"registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id", "seed", "ticket", "SectorNum",
                "Phase1Out", "SectorSize"}},
    [S_VANILLA] = {false,
                   "the vanilla proofs",
                   0,
                   {"StackedDrg2KiBV1", "StackedDrg8MiBV1", "StackedDrg512MiBV1", "StackedDrg32GiBV1",
                    "StackedDrg64GiBV1"}},
    [S_PARTITIONS] = {true, "partitions", 0, {0}},
    [S_PARTITION] = {true, "challenges of the partition", 0, {0}},
    [S_CHALLENGE] = {false,
                     "the challenge",
                     31,
                     {"comm_d_proofs", "comm_r_last_proof", "replica_column_proofs", "labeling_proofs",
                      "encoding_proof"}},
    [S_MERKLE] = {false, "the merkle proof", 1, {"data"}},
    [S_CHOICE] = {false, "the merkle proof", 0, {"Single", "Sub", "Top"}},
    [S_TREE] = {false, "the merkle proof", 0, {"root", "leaf", "path", "base_proof", "sub_proof", "top_proof"}},
    [S_PATH_OBJECT] = {false, "the path", 1, {"path"}},
    [S_PATH] = {true, "levels of the path", 0, {0}},
    [S_ELEMENT] = {false, "the path element", 3, {"hashes", "index"}},
    [S_NODES] = {true, "nodes", 0, {0}},
    [S_NODE] = {true, "bytes of the node", 0, {0}},
    [S_BYTES] = {true, "bytes", 0, {0}},
    [S_COLUMNS] = {false, "the column proofs", 7, {"c_x", "drg_parents", "exp_parents"}},
    [S_COLUMN_LIST] = {true, "column proofs", 0, {0}},
    [S_COLUMN_PROOF] = {false, "the column proof", 3, {"column", "inclusion_proof"}},
    [S_COLUMN] = {false, "the column", 3, {"index", "rows"}},
    [S_LABELS] = {true, "labeling proofs", 0, {0}},
    [S_LABEL] = {false, "the labeling proof", 7, {"parents", "layer_index", "node"}},
};
static const uint64_t vanilla_sizes[5] = {(uint64_t)2 << 10, (uint64_t)8 << 20, (uint64_t)512 << 20, (uint64_t)32 << 30,
                                          (uint64_t)64 << 30};

/* What a frame is about; a child inherits its parent's and narrows it. */
typedef struct frame {
    state state;
    int member; /* of an object: the member that is being read, -1 when it is not one of ours */
    uint32_t seen;
    unsigned count, want; /* of an array */
    fr *node;             /* NODES: the next; NODE: this */
    uint8_t *bytes;
    const merkle_form *tree;
    merkle_path *path;
    merkle_level *levels;
    unsigned first, column; /* level that a PATH begins at, or ELEMENT's; column number */
    porep_labeling *label;
    fr *parents;
} frame;

typedef struct reader {
    porep_c1 *out;
    arena *memory;
    uint64_t sector_bytes;
    bool forced, inner;
    porep_challenge *challenges; /* of the partition */
    porep_draft draft;
    uint8_t node[32];
    buffer phase1; /* decoded */
    size_t phase1_bytes;
    uint32_t top_seen;
    unsigned depth;
    frame stack[JSON_MAX_DEPTH + 2];
} reader;

static const char *kind_name(json_kind k) {
    static const char *const names[] = {"null", "false", "true", "a number", "a string", "an array", "an object"};
    return names[k];
}

static const char *found_text(json_kind k, const char *text, size_t len, char *buf, size_t n) {
    if (k != JSON_NUMBER && k != JSON_STRING) return kind_name(k);
    snprintf(buf, n, "%s %.*s", kind_name(k), len > 60 ? 60 : (int)len, text);
    return buf;
}

static cuzk_status foreign(json_parser *p, cuzk_error *err, const char *what) {
    json_fail(p, err, "%s", what);
    err->status = CUZK_FOREIGN;
    return CUZK_FOREIGN;
}

static cuzk_status no_memory(cuzk_error *err) {
    return cuzk_fail(err, CUZK_MEMORY, "no memory for the vanilla proof");
}

static unsigned base_levels(const merkle_form *f, const porep_params *p) {
    if (f->hash == MERKLE_SHA256) return f->levels;
    return f->levels - (p->v != 0) - (p->w != 0);
}

static int tree_choice(const merkle_form *f, const porep_params *p) {
    if (f->hash == MERKLE_SHA256 || p->v == 0) return CHOICE_SINGLE;
    return p->w == 0 ? CHOICE_SUB : CHOICE_TOP;
}

/* ---- what begins ---- */

/* The sector size is settled here, before anything that depends on it. */
static cuzk_status begin_partitions(reader *r, json_parser *p, frame *f, cuzk_error *err) {
    porep_c1 *o = r->out;
    uint64_t size = r->sector_bytes;
    if (o->vanilla_bytes != 0) {
        if (size == 0) size = o->vanilla_bytes;
        if (size != o->vanilla_bytes && !r->forced) {
            foreign(p, err, "the vanilla proofs are of another sector size");
            cuzk_fail_expected(err, "%llu bytes", (unsigned long long)size);
            return cuzk_fail_found(err, "%llu bytes", (unsigned long long)o->vanilla_bytes);
        }
    } else if (size == 0 && o->has_registered) {
        size = o->registered.sector_bytes;
    }
    if (size == 0) {
        foreign(p, err, "no registered proof comes before the bare vanilla proofs: their sector size is not known");
        return cuzk_fail_hint(err, "give --request with the sector's registered_proof");
    }
    porep_params most;
    if (!porep_params_for(&o->params, size, "") || !porep_params_for(&most, size, "ni")) {
        foreign(p, err, "there is no such sector size");
        return cuzk_fail_found(err, "%llu bytes", (unsigned long long)size);
    }
    o->partitions = arena_alloc_array(r->memory, most.partitions, sizeof *o->partitions);
    if (!o->partitions) return no_memory(err);
    f->want = most.partitions;
    return CUZK_OK;
}

static cuzk_status begin_partition(reader *r, frame *f, unsigned number, cuzk_error *err) {
    porep_c1 *o = r->out;
    f->want = o->params.challenges;
    r->challenges = arena_alloc_array(r->memory, f->want, sizeof *r->challenges);
    if (!r->challenges) return no_memory(err);
    o->partitions[number].challenges = r->challenges;
    o->n_partitions = number + 1;
    return CUZK_OK;
}

static cuzk_status begin_challenge(reader *r, unsigned number, cuzk_error *err) {
    if (!porep_draft_make(&r->draft, r->memory, &r->out->params, r->challenges + number)) return no_memory(err);
    return CUZK_OK;
}

static void begin_tree(frame *f, const merkle_form *form_, merkle_path *path, merkle_level *levels) {
    f->state = S_MERKLE;
    f->tree = form_;
    f->path = path;
    f->levels = levels;
}

static void begin_nodes(frame *f, fr *first, unsigned want) {
    f->state = S_NODES;
    f->node = first;
    f->want = want;
}

/* Member of a challenge or of what is in it. */
static void begin_in_challenge(reader *r, const frame *up, frame *f) {
    const porep_params *p = &r->out->params;
    porep_challenge *c = r->draft.challenge;
    switch (up->state) {
    case S_CHALLENGE:
        if (up->member == CHALLENGE_D) begin_tree(f, &p->tree_d, &c->d, r->draft.d.levels);
        if (up->member == CHALLENGE_R) begin_tree(f, &p->tree_r, &c->r, r->draft.r.levels);
        if (up->member == CHALLENGE_COLUMNS) f->state = S_COLUMNS;
        if (up->member == CHALLENGE_LABELS) f->state = S_LABELS, f->want = p->layers;
        if (up->member == CHALLENGE_ENCODING)
            f->state = S_LABEL, f->label = &c->encoding, f->parents = r->draft.parents[p->layers];
        break;
    case S_LABELS:
        f->state = S_LABEL, f->label = &r->draft.labels[up->count - 1], f->parents = r->draft.parents[up->count - 1];
        break;
    case S_LABEL:
        if (up->member == LABEL_PARENTS) begin_nodes(f, up->parents, POREP_LABEL_PARENTS);
        break;
    case S_COLUMNS:
        f->column = up->member == COLUMNS_X ? 0 : up->member == COLUMNS_DRG ? 1 : 1 + POREP_DRG_PARENTS;
        f->want = up->member == COLUMNS_DRG ? POREP_DRG_PARENTS : POREP_EXP_PARENTS;
        f->state = up->member == COLUMNS_X ? S_COLUMN_PROOF : S_COLUMN_LIST;
        break;
    case S_COLUMN_LIST: f->state = S_COLUMN_PROOF, f->column = up->column + up->count - 1; break;
    case S_COLUMN_PROOF:
        if (up->member == COLUMN_PROOF_COLUMN)
            f->state = S_COLUMN;
        else
            begin_tree(f, &p->tree_r, &porep_column_at(c, up->column)->path, r->draft.column_tree[up->column].levels);
        break;
    case S_COLUMN:
        if (up->member == COLUMN_ROWS) begin_nodes(f, r->draft.rows[up->column], p->layers);
        break;
    default: break;
    }
}

/* Member of a merkle proof or of what is in it. */
static void begin_in_tree(reader *r, const frame *up, frame *f) {
    unsigned base = up->tree ? base_levels(up->tree, &r->out->params) : 0;
    switch (up->state) {
    case S_MERKLE: f->state = S_CHOICE; break;
    case S_CHOICE: f->state = S_TREE; break;
    case S_TREE:
        f->state = up->member == TREE_ROOT || up->member == TREE_LEAF ? S_NODE : S_PATH_OBJECT;
        f->node = up->member == TREE_ROOT ? &up->path->root : &up->path->leaf;
        f->first = up->member == TREE_SUB ? base : up->member == TREE_TOP ? base + 1 : 0;
        break;
    case S_PATH_OBJECT:
        f->state = S_PATH;
        f->want = up->first == 0 ? base : 1;
        break;
    case S_PATH: f->state = S_ELEMENT, f->first = up->first + up->count - 1; break;
    case S_ELEMENT:
        if (up->member == ELEMENT_HASHES) /* The siblings are in our arena; the level borrows them as const. */
            begin_nodes(f, (fr *)up->levels[up->first].siblings, up->tree->arity[up->first] - 1u);
        break;
    default: break;
    }
}

static uint8_t *top_bytes(porep_c1 *o, int member) {
    switch (member) {
    case TOP_COMM_R: return o->comm_r;
    case TOP_COMM_D: return o->comm_d;
    case TOP_REPLICA_ID: return o->replica_id;
    case TOP_SEED: return o->seed;
    case TOP_TICKET: return o->ticket;
    default: return NULL;
    }
}

/* One more element of an array frame, if it takes one. */
static cuzk_status count_element(json_parser *p, frame *up, cuzk_error *err) {
    if (up->count >= up->want) {
        json_fail(p, err, "there are too many %s", forms[up->state].what);
        cuzk_fail_expected(err, "%u", up->want);
        return cuzk_fail_found(err, "more");
    }
    up->count++;
    return CUZK_OK;
}

static cuzk_status wrong_kind(json_parser *p, const char *expected, json_kind k, cuzk_error *err) {
    json_fail(p, err, "a value has the wrong type");
    cuzk_fail_expected(err, "%s", expected);
    return cuzk_fail_found(err, "%s", kind_name(k));
}

static cuzk_status on_begin(void *ctx, json_parser *p, json_kind kind, cuzk_error *err) {
    reader *r = ctx;
    if (r->depth == 0) {
        if (kind != JSON_OBJECT) return wrong_kind(p, "an object", kind, err);
        r->stack[r->depth++] = (frame){.state = S_TOP, .member = -1};
        return CUZK_OK;
    }
    assert(r->depth < sizeof r->stack / sizeof r->stack[0]);
    frame *up = &r->stack[r->depth - 1], *f = &r->stack[r->depth];
    if (up->state == S_SKIP || (!forms[up->state].array && up->member < 0)) {
        *f = (frame){.state = S_SKIP};
        r->depth++;
        return CUZK_OK;
    }
    cuzk_status s = forms[up->state].array ? count_element(p, up, err) : CUZK_OK;
    if (s != CUZK_OK) return s;
    *f = *up;
    f->state = S_SKIP; /* stays so where no container belongs */
    f->member = -1;
    f->seen = 0;
    f->count = f->want = 0;
    switch (up->state) {
    case S_TOP:
        f->bytes = top_bytes(r->out, up->member);
        if (f->bytes) f->state = S_BYTES, f->want = 32;
        if (up->member == TOP_VANILLA) f->state = kind == JSON_ARRAY ? S_PARTITIONS : S_VANILLA;
        break;
    case S_VANILLA: f->state = S_PARTITIONS; break;
    case S_PARTITIONS: f->state = S_PARTITION; break;
    case S_PARTITION: f->state = S_CHALLENGE; break;
    case S_NODES: f->state = S_NODE, f->node = up->node++; break;
    default:
        begin_in_challenge(r, up, f);
        begin_in_tree(r, up, f);
        break;
    }
    if (f->state == S_SKIP) return wrong_kind(p, forms[up->state].array ? "a number" : "a number or string", kind, err);
    if (forms[f->state].array != (kind == JSON_ARRAY))
        return wrong_kind(p, forms[f->state].array ? "an array" : "an object", kind, err);
    if (f->state == S_NODE) f->want = 32;
    if (f->state == S_PARTITIONS) s = begin_partitions(r, p, f, err);
    if (f->state == S_PARTITION) s = begin_partition(r, f, up->count - 1, err);
    if (f->state == S_CHALLENGE) s = begin_challenge(r, up->count - 1, err);
    if (s == CUZK_OK) r->depth++;
    return s;
}

/* ---- members ---- */

static uint32_t required_members(const reader *r, const frame *f) {
    switch (f->state) {
    case S_TOP:
        if (r->out->wrapped) return BIT(TOP_PHASE1) | BIT(TOP_SECTOR_NUM) | BIT(TOP_SECTOR_SIZE);
        return BIT(TOP_VANILLA) | BIT(TOP_COMM_R) | BIT(TOP_COMM_D) | BIT(TOP_REPLICA_ID) | BIT(TOP_SEED) |
               BIT(TOP_TICKET);
    case S_CHOICE: return BIT(tree_choice(f->tree, &r->out->params));
    case S_TREE:
        switch (tree_choice(f->tree, &r->out->params)) {
        case CHOICE_SINGLE: return BIT(TREE_ROOT) | BIT(TREE_LEAF) | BIT(TREE_PATH);
        case CHOICE_SUB: return BIT(TREE_ROOT) | BIT(TREE_LEAF) | BIT(TREE_BASE) | BIT(TREE_SUB);
        default: return BIT(TREE_ROOT) | BIT(TREE_LEAF) | BIT(TREE_BASE) | BIT(TREE_SUB) | BIT(TREE_TOP);
        }
    default: return forms[f->state].required;
    }
}

static int member_number(const form *f, const char *text, size_t len) {
    for (int i = 0; i < MAX_MEMBERS && f->members[i]; i++)
        if (strlen(f->members[i]) == len && memcmp(f->members[i], text, len) == 0) return i;
    return -1;
}

static cuzk_status on_key(void *ctx, json_parser *p, const char *text, size_t len, cuzk_error *err) {
    reader *r = ctx;
    frame *f = &r->stack[r->depth - 1];
    if (f->state == S_SKIP) return CUZK_OK;
    f->member = member_number(&forms[f->state], text, len);
    if (f->member < 0) {
        if (f->state != S_VANILLA) return CUZK_OK;
        foreign(p, err, "the vanilla proofs are of an unknown kind");
        cuzk_fail_expected(err, "StackedDrg32GiBV1 or another size's plain name");
        return cuzk_fail_found(err, "%.*s", len > 80 ? 80 : (int)len, text);
    }
    if (f->seen & BIT(f->member))
        return json_fail(p, err, "a member comes twice: %s", forms[f->state].members[f->member]);
    f->seen |= BIT(f->member);
    if (f->state == S_VANILLA) {
        if (f->seen != BIT(f->member)) return json_fail(p, err, "there are vanilla proofs of two sector sizes");
        r->out->vanilla_bytes = vanilla_sizes[f->member];
    }
    /* Each form of a merkle proof has its own members; another form's are like unknown ones. */
    if (f->state == S_TREE && !(required_members(r, f) & BIT(f->member))) f->member = -1;
    if (f->state == S_CHOICE) {
        int want = tree_choice(f->tree, &r->out->params);
        if (f->member != want) {
            foreign(p, err, "a merkle proof is of another tree shape");
            cuzk_fail_expected(err, "%s", forms[S_CHOICE].members[want]);
            return cuzk_fail_found(err, "%s", forms[S_CHOICE].members[f->member]);
        }
    }
    return CUZK_OK;
}

/* ---- values ---- */

static cuzk_status whole_number(json_parser *p, json_kind k, const char *text, size_t len, uint64_t below,
                                uint64_t *out, cuzk_error *err) {
    char buf[80];
    if (k != JSON_NUMBER || !text_u64(out, text, len) || *out >= below) {
        json_fail(p, err, "a number is not what belongs here");
        cuzk_fail_expected(err, "a whole number below %llu", (unsigned long long)below);
        return cuzk_fail_found(err, "%s", found_text(k, text, len, buf, sizeof buf));
    }
    return CUZK_OK;
}

/* A byte of a node: by far the most frequent event. */
static cuzk_status byte_value(reader *r, json_parser *p, frame *f, json_kind k, const char *text, size_t len,
                              cuzk_error *err) {
    unsigned v = 256;
    if (k == JSON_NUMBER && len >= 1 && len <= 3) {
        v = 0;
        for (size_t i = 0; i < len; i++) {
            unsigned digit = (unsigned)(unsigned char)text[i] - '0';
            v = digit > 9 ? 1000 : 10 * v + digit;
        }
    }
    if (v > 255) {
        char buf[80];
        json_fail(p, err, "a byte is out of range");
        cuzk_fail_expected(err, "a whole number 0 to 255");
        return cuzk_fail_found(err, "%s", found_text(k, text, len, buf, sizeof buf));
    }
    if (f->count >= f->want) return count_element(p, f, err);
    r->node[f->count++] = (uint8_t)v;
    return CUZK_OK;
}

static cuzk_status phase1_value(reader *r, json_parser *p, const char *text, size_t len, cuzk_error *err) {
    size_t bad_at = 0;
    if (r->inner) return json_fail(p, err, "a wrapper is inside a wrapper");
    r->out->wrapped = true;
    cuzk_status s = buffer_alloc(&r->phase1, BUFFER_REQUEST, text_base64_bound(len), err);
    if (s != CUZK_OK) return s;
    if (len == 0 || !text_unbase64(r->phase1.data, &r->phase1_bytes, text, len, &bad_at)) {
        json_fail(p, err, "Phase1Out is not base64");
        return cuzk_fail_found(err, "a fault at its character %zu of %zu", bad_at, len);
    }
    return CUZK_OK;
}

static cuzk_status top_value(reader *r, json_parser *p, int member, json_kind k, const char *text, size_t len,
                             cuzk_error *err) {
    porep_c1 *o = r->out;
    switch (member) {
    case TOP_REGISTERED:
        if (k != JSON_STRING) return wrong_kind(p, "a string", k, err);
        if (!porep_registered_by_name(&o->registered, text, len)) {
            foreign(p, err, "the registered proof is not known");
            cuzk_fail_expected(err, "StackedDrg32GiBV1_1 or another");
            return cuzk_fail_found(err, "%.*s", len > 80 ? 80 : (int)len, text);
        }
        o->has_registered = true;
        return CUZK_OK;
    case TOP_SECTOR_NUM:
        o->has_sector_number = true;
        return whole_number(p, k, text, len, UINT64_MAX, &o->sector_number, err);
    case TOP_SECTOR_SIZE: return whole_number(p, k, text, len, UINT64_MAX, &o->wrapper_bytes, err);
    case TOP_PHASE1:
        if (k != JSON_STRING) return wrong_kind(p, "a base64 string", k, err);
        return phase1_value(r, p, text, len, err);
    case TOP_VANILLA: return wrong_kind(p, "an object or an array", k, err);
    default: return wrong_kind(p, "an array of 32 bytes", k, err);
    }
}

static cuzk_status on_value(void *ctx, json_parser *p, json_kind k, const char *text, size_t len, cuzk_error *err) {
    reader *r = ctx;
    if (r->depth == 0) return wrong_kind(p, "an object", k, err);
    frame *f = &r->stack[r->depth - 1];
    if (f->state == S_NODE || f->state == S_BYTES) return byte_value(r, p, f, k, text, len, err);
    if (f->state == S_SKIP) return CUZK_OK;
    if (forms[f->state].array)
        return wrong_kind(p, f->state == S_NODES || f->state == S_PARTITIONS ? "an array" : "an object", k, err);
    if (f->member < 0) return CUZK_OK;
    uint64_t v = 0;
    cuzk_status s;
    if (f->state == S_TOP) return top_value(r, p, f->member, k, text, len, err);
    if (f->state == S_ELEMENT && f->member == ELEMENT_INDEX) {
        s = whole_number(p, k, text, len, f->tree->arity[f->first], &v, err);
        f->levels[f->first].index = (uint32_t)v;
        return s;
    }
    if (f->state == S_COLUMN && f->member == COLUMN_INDEX)
        return whole_number(p, k, text, len, r->out->params.nodes,
                            &porep_column_at(r->draft.challenge, f->column)->index, err);
    if (f->state == S_LABEL && f->member == LABEL_NODE)
        return whole_number(p, k, text, len, r->out->params.nodes, &f->label->node, err);
    if (f->state == S_LABEL && f->member == LABEL_LAYER) {
        s = whole_number(p, k, text, len, (uint64_t)UINT32_MAX + 1, &v, err);
        f->label->layer = (uint32_t)v;
        return s;
    }
    return wrong_kind(p, "an array or an object", k, err);
}

/* ---- what ends ---- */

static cuzk_status end_object(reader *r, json_parser *p, const frame *f, cuzk_error *err) {
    uint32_t missing = required_members(r, f) & ~f->seen;
    if (missing != 0)
        return json_fail(p, err, "%s lacks a member: %s", forms[f->state].what,
                         forms[f->state].members[__builtin_ctz(missing)]);
    if (f->state == S_VANILLA && f->seen == 0) return json_fail(p, err, "the vanilla proofs are empty");
    if (f->state != S_TOP) return CUZK_OK;
    if (r->out->wrapped && (f->seen & BIT(TOP_VANILLA))) return json_fail(p, err, "a wrapper also has vanilla proofs");
    r->top_seen = f->seen;
    return CUZK_OK;
}

static cuzk_status on_end(void *ctx, json_parser *p, json_kind kind, cuzk_error *err) {
    reader *r = ctx;
    (void)kind;
    frame *f = &r->stack[--r->depth];
    if (f->state == S_SKIP) return CUZK_OK;
    if (!forms[f->state].array) return end_object(r, p, f, err);
    /* How many partitions there must be depends on the registered proof, which may still come. */
    if (f->state == S_PARTITIONS ? f->count == 0 : f->count != f->want) {
        json_fail(p, err, "there are too few %s", forms[f->state].what);
        cuzk_fail_expected(err, "%u", f->want);
        return cuzk_fail_found(err, "%u", f->count);
    }
    if (f->state == S_BYTES) memcpy(f->bytes, r->node, 32);
    if (f->state == S_NODE && !fr_from_le_bytes(f->node, r->node)) {
        char hex[65];
        text_hex(hex, r->node, 32);
        json_fail(p, err, "a node is not below the field's modulus");
        return cuzk_fail_found(err, "little-endian bytes %s", hex);
    }
    return CUZK_OK;
}

/* ---- the whole ---- */

static bool all_zero(const uint8_t b[32]) {
    uint8_t any = 0;
    for (int i = 0; i < 32; i++) any |= b[i];
    return any == 0;
}

static cuzk_status bad_commitment(const char *name, const char *member, const char *what, cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "%s %s", member, what);
    return cuzk_fail_where(err, "%s: $.%s", name, member);
}

static cuzk_status finish(const reader *r, const char *name, cuzk_error *err) {
    porep_c1 *o = r->out;
    fr replica_id, comm_d, comm_r;
    if (all_zero(o->comm_d)) return bad_commitment(name, "comm_d", "is all zero", err);
    if (all_zero(o->comm_r)) return bad_commitment(name, "comm_r", "is all zero", err);
    if (!fr_from_le_bytes(&comm_d, o->comm_d))
        return bad_commitment(name, "comm_d", "is not below the field's modulus", err);
    if (!fr_from_le_bytes(&comm_r, o->comm_r))
        return bad_commitment(name, "comm_r", "is not below the field's modulus", err);
    if (!fr_from_le_bytes(&replica_id, o->replica_id))
        return bad_commitment(name, "replica_id", "is not below the field's modulus", err);
    if (o->has_registered && o->vanilla_bytes != 0 && o->registered.sector_bytes != o->vanilla_bytes) {
        cuzk_fail(err, CUZK_FOREIGN, "registered proof and vanilla proofs are of different sector sizes");
        cuzk_fail_where(err, "%s: $.vanilla_proofs", name);
        cuzk_fail_expected(err, "%llu bytes", (unsigned long long)o->registered.sector_bytes);
        return cuzk_fail_found(err, "%llu bytes", (unsigned long long)o->vanilla_bytes);
    }
    for (unsigned i = 0; i < o->n_partitions; i++) {
        porep_partition *q = &o->partitions[i];
        q->replica_id = replica_id;
        q->comm_d = comm_d;
        q->comm_r = comm_r;
        q->comm_c = q->challenges[0].x.path.root;
        q->comm_r_last = q->challenges[0].r.root;
    }
    return CUZK_OK;
}

cuzk_status porep_c1_read(porep_c1 *out, arena *a, const char *name, const void *data, size_t len,
                          uint64_t sector_bytes, bool forced, cuzk_error *err) {
    static const json_handler handler = {on_value, on_begin, on_key, on_end};
    char inner_name[300];
    memset(out, 0, sizeof *out);
    reader r = {.out = out, .memory = a, .sector_bytes = sector_bytes, .forced = forced};
    cuzk_status s = json_parse(name, data, len, &handler, &r, err);
    if (s == CUZK_OK && out->wrapped) {
        if (r.top_seen & BIT(TOP_REGISTERED)) out->has_registered = false; /* the wrapped document says it */
        snprintf(inner_name, sizeof inner_name, "%s: Phase1Out", name);
        name = inner_name;
        r.inner = true;
        r.depth = 0;
        out->wrapped = false; /* members required of the inner document are the plain ones */
        s = json_parse(name, r.phase1.data, r.phase1_bytes, &handler, &r, err);
        out->wrapped = true;
    }
    if (s == CUZK_OK) s = finish(&r, name, err);
    buffer_free(&r.phase1);
    return s;
}
