/* Synthetic PoRep sectors.
 *
 * Order follows what depends on what. comm_d must be known before replica_id, and replica_id before the challenges, so
 * the data is a short random pattern repeated over the whole sector: its tree is known everywhere after a few thousand
 * hashes. Then the challenges are the real ones. Columns are needed at challenged nodes and their parents only. A
 * challenged node's labels are the true ones, made layer by layer in ascending node order (DRG parents are lower nodes
 * of the same layer, expander parents are in the layer below), so a node that is both parent and challenged has one
 * value; all other labels are free, and pseudo-random by position (node 0 has its true one). Trees C and R are sparse:
 * a node on a path from a known leaf is computed, any other is pseudo-random by position.
 *
 * Every pseudo-random value is SHA-256 of (seed, purpose, level, position), so the result does not depend on the number
 * of threads. Limits: interactive kind only.
 */
#include "circuit/porep/synth.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "circuit/facts.h"
#include "circuit/porep/graph.h"
#include "math/poseidon.h"

#define DATA_PERIOD 4096u /* leaves after which the data repeats */
#define MAX_CHALLENGES 64u

typedef enum { FREE_FACTS = 1, FREE_DATA, FREE_LABEL, FREE_TREE_C, FREE_TREE_R } free_purpose;

static void free_bytes(uint8_t out[32], uint64_t seed, free_purpose purpose, unsigned level, uint64_t position) {
    uint8_t text[40] = "cuzk synthetic sector";
    for (int i = 0; i < 8; i++) {
        text[22 + i] = (uint8_t)(seed >> (8 * i));
        text[32 + i] = (uint8_t)(position >> (8 * i));
    }
    text[30] = (uint8_t)purpose;
    text[31] = (uint8_t)level;
    hash_sha256(out, text, sizeof text);
    out[31] &= 0x3f;
}

static void from_bytes(fr *out, const uint8_t bytes[32]) {
    bool below = fr_from_le_bytes(out, bytes);
    assert(below); /* 254 bits */
    (void)below;
}

static void free_value(fr *out, uint64_t seed, free_purpose purpose, unsigned level, uint64_t position) {
    uint8_t bytes[32];
    free_bytes(bytes, seed, purpose, level, position);
    from_bytes(out, bytes);
}

/* ---- data: a repeated pattern ---- */

typedef struct data_tree {
    unsigned base;                  /* levels of one pattern's own tree */
    fr *level[32];                  /* of the pattern, from the leaves; level[base] is its root */
    fr high[MERKLE_MAX_LEVELS + 1]; /* the one value of every node of a level from base up */
} data_tree;

static bool make_data(data_tree *d, arena *a, const porep_params *p, uint64_t seed) {
    const merkle_form *f = &p->tree_d;
    uint64_t n = p->nodes < DATA_PERIOD ? p->nodes : DATA_PERIOD;
    d->base = (unsigned)__builtin_ctzll(n);
    for (unsigned l = 0; l <= d->base; l++) {
        d->level[l] = arena_alloc_array(a, (size_t)(n >> l), sizeof(fr));
        if (!d->level[l]) return false;
        for (uint64_t i = 0; i < n >> l; i++) {
            if (l == 0)
                free_value(&d->level[0][i], seed, FREE_DATA, 0, i);
            else
                merkle_hash_node(f->hash, 2, &d->level[l][i], &d->level[l - 1][2 * i]);
        }
    }
    d->high[d->base] = d->level[d->base][0];
    for (unsigned l = d->base; l < f->levels; l++) {
        fr both[2] = {d->high[l], d->high[l]};
        merkle_hash_node(f->hash, 2, &d->high[l + 1], both);
    }
    return true;
}

static void data_path(const data_tree *d, const merkle_form *f, uint64_t node, merkle_path *path,
                      porep_draft_tree *to) {
    uint64_t in_pattern = node & (((uint64_t)1 << d->base) - 1);
    path->leaf = d->level[0][in_pattern];
    path->root = d->high[f->levels];
    for (unsigned l = 0; l < f->levels; l++) {
        to->levels[l].index = (uint32_t)(node >> l & 1);
        to->siblings[l] = l < d->base ? d->level[l][(in_pattern >> l) ^ 1] : d->high[l];
    }
}

/* ---- sparse trees ---- */

typedef struct sparse_level {
    uint64_t *index; /* ascending */
    fr *value;
    size_t n;
} sparse_level;

typedef struct sparse_tree {
    const merkle_form *form;
    uint64_t seed;
    free_purpose purpose;
    sparse_level level[MERKLE_MAX_LEVELS + 1];
    size_t *first_child; /* of the level being made: its first known child */
    unsigned making;
} sparse_tree;

static void sparse_node(const sparse_tree *t, unsigned l, uint64_t index, fr *out) {
    const sparse_level *s = &t->level[l];
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->index[mid] < index)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < s->n && s->index[low] == index)
        *out = s->value[low];
    else
        free_value(out, t->seed, t->purpose, l, index);
}

static void sparse_tile(void *ctx, size_t tile, unsigned slot) {
    sparse_tree *t = ctx;
    (void)slot;
    const sparse_level *low = &t->level[t->making - 1];
    sparse_level *up = &t->level[t->making];
    unsigned arity = t->form->arity[t->making - 1];
    fr children[8];
    size_t at = t->first_child[tile];
    for (unsigned j = 0; j < arity; j++) {
        uint64_t index = up->index[tile] * arity + j;
        if (at < low->n && low->index[at] == index)
            children[j] = low->value[at++];
        else
            free_value(&children[j], t->seed, t->purpose, t->making - 1, index);
    }
    merkle_hash_node(t->form->hash, arity, &up->value[tile], children);
}

/* level[0] is filled in. */
static cuzk_status make_sparse(sparse_tree *t, arena *a, pool *workers, const cuzk_control *control, cuzk_error *err) {
    for (t->making = 1; t->making <= t->form->levels; t->making++) {
        const sparse_level *low = &t->level[t->making - 1];
        sparse_level *up = &t->level[t->making];
        unsigned arity = t->form->arity[t->making - 1];
        up->index = arena_alloc_array(a, low->n, sizeof *up->index);
        up->value = arena_alloc_array(a, low->n, sizeof *up->value);
        t->first_child = arena_alloc_array(a, low->n, sizeof *t->first_child);
        if (!up->index || !up->value || !t->first_child)
            return cuzk_fail(err, CUZK_MEMORY, "no memory for a synthetic tree");
        for (size_t i = 0; i < low->n; i++) {
            uint64_t parent = low->index[i] / arity;
            if (up->n > 0 && up->index[up->n - 1] == parent) continue;
            up->index[up->n] = parent;
            t->first_child[up->n++] = i;
        }
        cuzk_status s = pool_run(workers, control, "synthetic tree", up->n, sparse_tile, t, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

static void sparse_path(const sparse_tree *t, uint64_t node, merkle_path *path, porep_draft_tree *to) {
    sparse_node(t, 0, node, &path->leaf);
    path->root = t->level[t->form->levels].value[0];
    fr *sibling = to->siblings;
    for (unsigned l = 0; l < t->form->levels; l++) {
        unsigned arity = t->form->arity[l], own = (unsigned)(node % arity);
        to->levels[l].index = own;
        for (unsigned j = 0; j < arity; j++)
            if (j != own) sparse_node(t, l, node - own + j, sibling++);
        node /= arity;
    }
}

/* ---- columns ---- */

typedef struct columns {
    const porep_params *p;
    size_t n;
    uint64_t *node; /* ascending, each once */
    bool *challenged;
    uint8_t (*labels)[32]; /* layers of each node together */
    fr *rows, *hash;
} columns;

static size_t column_at(const columns *c, uint64_t node) {
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->node[mid] < node)
            low = mid + 1;
        else
            high = mid;
    }
    assert(low < c->n && c->node[low] == node);
    return low;
}

static int by_number(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static void make_label(columns *c, const porep_graph *g, const uint8_t replica_id[32], unsigned layer, size_t i) {
    uint64_t parents[POREP_PARENTS];
    uint8_t values[POREP_PARENTS][32];
    unsigned n = layer == 1 ? POREP_DRG_PARENTS : POREP_PARENTS, layers = c->p->layers;
    porep_graph_parents(g, c->node[i], parents);
    for (unsigned k = 0; k < n; k++) {
        size_t at = column_at(c, parents[k]) * layers + layer - (k < POREP_DRG_PARENTS ? 1 : 2);
        memcpy(values[k], c->labels[at], 32);
    }
    porep_label(c->labels[i * layers + layer - 1], replica_id, layer, c->node[i], (const uint8_t(*)[32])values, n);
}

static void column_tile(void *ctx, size_t i, unsigned slot) {
    columns *c = ctx;
    (void)slot;
    fr *rows = &c->rows[i * c->p->layers];
    for (unsigned l = 0; l < c->p->layers; l++) from_bytes(&rows[l], c->labels[i * c->p->layers + l]);
    poseidon_hash(poseidon_get(c->p->layers), &c->hash[i], rows);
}

static cuzk_status make_columns(columns *c, arena *a, const porep_graph *g, const uint64_t *challenges, size_t n,
                                const uint8_t replica_id[32], uint64_t seed, pool *workers, const cuzk_control *control,
                                cuzk_error *err) {
    size_t most = n * (1 + POREP_PARENTS), layers = c->p->layers;
    c->node = arena_alloc_array(a, most, sizeof *c->node);
    c->challenged = arena_alloc_array(a, most, sizeof *c->challenged);
    c->labels = arena_alloc_array(a, most * layers, sizeof *c->labels);
    c->rows = arena_alloc_array(a, most * layers, sizeof *c->rows);
    c->hash = arena_alloc_array(a, most, sizeof *c->hash);
    if (!c->node || !c->challenged || !c->labels || !c->rows || !c->hash)
        return cuzk_fail(err, CUZK_MEMORY, "no memory for synthetic columns");
    for (size_t i = 0; i < n; i++) {
        uint64_t *at = &c->node[i * (1 + POREP_PARENTS)];
        at[0] = challenges[i];
        porep_graph_parents(g, challenges[i], at + 1);
    }
    qsort(c->node, most, sizeof *c->node, by_number);
    for (size_t i = 0; i < most; i++)
        if (c->n == 0 || c->node[c->n - 1] != c->node[i]) c->node[c->n++] = c->node[i];
    for (size_t i = 0; i < n; i++) c->challenged[column_at(c, challenges[i])] = true;
    for (unsigned layer = 1; layer <= layers; layer++) {
        for (size_t i = 0; i < c->n; i++) {
            uint8_t *label = c->labels[i * layers + layer - 1];
            if (c->challenged[i])
                make_label(c, g, replica_id, layer, i);
            else if (c->node[i] == 0)
                porep_label(label, replica_id, layer, 0, NULL, 0);
            else
                free_bytes(label, seed, FREE_LABEL, layer, c->node[i]);
        }
    }
    return pool_run(workers, control, "synthetic columns", c->n, column_tile, c, err);
}

/* ---- the whole ---- */

typedef struct sector {
    const porep_params *p;
    porep_graph graph;
    data_tree data;
    columns columns;
    sparse_tree c, r;
    size_t n; /* challenges */
    uint64_t *challenges;
} sector;

static void make_facts(porep_request *q, const porep_registered *registered, uint64_t seed) {
    uint8_t b[32];
    uint64_t numbers[2];
    memset(q, 0, sizeof *q);
    free_bytes(b, seed, FREE_FACTS, 0, 0);
    memcpy(numbers, b, sizeof numbers);
    q->has_registered = q->has_prover = q->has_sector = q->has_ticket = q->has_seed = q->has_comm_d = q->has_comm_r =
        true;
    q->registered = *registered;
    porep_prover_id(q->prover_id, 1000 + numbers[0] % 1000000);
    q->sector_number = numbers[1] % 10000000;
    free_bytes(q->ticket, seed, FREE_FACTS, 0, 1);
    free_bytes(q->seed, seed, FREE_FACTS, 0, 2);
}

/* Trees C and R over what is known of their leaves. */
static cuzk_status make_trees(sector *s, arena *a, uint64_t seed, pool *workers, const cuzk_control *control,
                              cuzk_error *err) {
    const columns *c = &s->columns;
    unsigned last = s->p->layers - 1;
    s->c = (sparse_tree){.form = &s->p->tree_r, .seed = seed, .purpose = FREE_TREE_C};
    s->c.level[0] = (sparse_level){c->node, c->hash, c->n};
    s->r = (sparse_tree){.form = &s->p->tree_r, .seed = seed, .purpose = FREE_TREE_R};
    sparse_level *leaves = &s->r.level[0];
    leaves->index = arena_alloc_array(a, c->n, sizeof *leaves->index);
    leaves->value = arena_alloc_array(a, c->n, sizeof *leaves->value);
    if (!leaves->index || !leaves->value) return cuzk_fail(err, CUZK_MEMORY, "no memory for synthetic leaves");
    for (size_t i = 0; i < c->n; i++) {
        if (!c->challenged[i]) continue;
        uint64_t in_pattern = c->node[i] & (((uint64_t)1 << s->data.base) - 1);
        leaves->index[leaves->n] = c->node[i];
        fr_add(&leaves->value[leaves->n++], &c->rows[i * s->p->layers + last], &s->data.level[0][in_pattern]);
    }
    cuzk_status st = make_sparse(&s->c, a, workers, control, err);
    return st == CUZK_OK ? make_sparse(&s->r, a, workers, control, err) : st;
}

static void fill_labeling(const porep_challenge *c, unsigned layer, uint64_t node, fr *parents, porep_labeling *out) {
    unsigned n = layer == 1 ? POREP_DRG_PARENTS : POREP_PARENTS;
    for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++) {
        unsigned k = i % n;
        parents[i] = k < POREP_DRG_PARENTS ? c->drg[k].rows[layer - 1] : c->exp[k - POREP_DRG_PARENTS].rows[layer - 2];
    }
    out->node = node;
    out->layer = layer;
}

static void fill_challenge(const sector *s, porep_draft *d, uint64_t node) {
    porep_challenge *c = d->challenge;
    uint64_t parents[POREP_PARENTS];
    porep_graph_parents(&s->graph, node, parents);
    data_path(&s->data, &s->p->tree_d, node, &c->d, &d->d);
    sparse_path(&s->r, node, &c->r, &d->r);
    for (unsigned i = 0; i <= POREP_PARENTS; i++) {
        porep_column *col = porep_column_at(c, i);
        col->index = i == 0 ? node : parents[i - 1];
        size_t at = column_at(&s->columns, col->index);
        memcpy(d->rows[i], &s->columns.rows[at * s->p->layers], s->p->layers * sizeof(fr));
        sparse_path(&s->c, col->index, &col->path, &d->column_tree[i]);
    }
    for (unsigned l = 1; l <= s->p->layers; l++) fill_labeling(c, l, node, d->parents[l - 1], &d->labels[l - 1]);
    fill_labeling(c, s->p->layers, node, d->parents[s->p->layers], &c->encoding);
}

static cuzk_status fill_partitions(porep_c1 *out, const sector *s, arena *a, cuzk_error *err) {
    out->n_partitions = s->p->partitions;
    out->partitions = arena_alloc_array(a, out->n_partitions, sizeof *out->partitions);
    porep_challenge *all = arena_alloc_array(a, s->n, sizeof *all);
    if (!out->partitions || !all) return cuzk_fail(err, CUZK_MEMORY, "no memory for a synthetic proof");
    for (size_t i = 0; i < s->n; i++) {
        porep_draft d;
        if (!porep_draft_make(&d, a, s->p, &all[i]))
            return cuzk_fail(err, CUZK_MEMORY, "no memory for a synthetic proof");
        fill_challenge(s, &d, s->challenges[i]);
    }
    for (unsigned k = 0; k < out->n_partitions; k++) {
        porep_partition *q = &out->partitions[k];
        q->challenges = &all[(size_t)k * s->p->challenges];
        from_bytes(&q->replica_id, out->replica_id);
        from_bytes(&q->comm_d, out->comm_d);
        q->comm_c = s->c.level[s->p->tree_r.levels].value[0];
        q->comm_r_last = s->r.level[s->p->tree_r.levels].value[0];
        fr both[2] = {q->comm_c, q->comm_r_last};
        poseidon_hash(poseidon_get(2), &q->comm_r, both);
    }
    fr_to_le_bytes(out->comm_r, &out->partitions[0].comm_r);
    return CUZK_OK;
}

static cuzk_status build(porep_c1 *out, porep_request *facts, arena *a, arena *scratch, const porep_params *p,
                         uint64_t seed, pool *workers, const cuzk_control *control, cuzk_error *err) {
    sector *s = arena_alloc(scratch, sizeof *s);
    if (!s) return cuzk_fail(err, CUZK_MEMORY, "no memory for a synthetic sector");
    s->p = s->columns.p = p;
    s->n = (size_t)p->partitions * p->challenges;
    s->challenges = arena_alloc_array(scratch, s->n, sizeof *s->challenges);
    if (!s->challenges || !make_data(&s->data, scratch, p, seed))
        return cuzk_fail(err, CUZK_MEMORY, "no memory for synthetic data");
    porep_graph_init(&s->graph, p->nodes, facts->registered.api_version, facts->registered.porep_id);
    fr_to_le_bytes(out->comm_d, &s->data.high[p->tree_d.levels]);
    memcpy(facts->comm_d, out->comm_d, 32);
    porep_replica_id(out->replica_id, facts->prover_id, facts->sector_number, facts->ticket, facts->comm_d,
                     facts->registered.porep_id);
    for (unsigned k = 0; k < p->partitions; k++)
        porep_challenges(p, out->replica_id, NULL, facts->seed, k, &s->challenges[(size_t)k * p->challenges]);
    cuzk_status st = make_columns(&s->columns, scratch, &s->graph, s->challenges, s->n, out->replica_id, seed, workers,
                                  control, err);
    if (st == CUZK_OK) st = make_trees(s, scratch, seed, workers, control, err);
    if (st == CUZK_OK) st = fill_partitions(out, s, a, err);
    return st;
}

cuzk_status synth_porep_build(porep_c1 *out, porep_request *facts, arena *a, const porep_params *p,
                              const porep_registered *registered, uint64_t seed, pool *workers,
                              const cuzk_control *control, cuzk_error *err) {
    if (p->non_interactive || p->synthetic || registered->non_interactive || registered->synthetic) {
        cuzk_fail(err, CUZK_USAGE, "only interactive PoRep sectors can be made up");
        return cuzk_fail_hint(err, "leave out --variant: the circuit and the keys are the same");
    }
    assert(p->challenges <= MAX_CHALLENGES);
    memset(out, 0, sizeof *out);
    arena *scratch = arena_create(BUFFER_OTHER, 0, err);
    if (!scratch) return err->status;
    make_facts(facts, registered, seed);
    out->has_registered = true;
    out->registered = *registered;
    out->vanilla_bytes = registered->sector_bytes;
    out->params = *p;
    memcpy(out->seed, facts->seed, 32);
    memcpy(out->ticket, facts->ticket, 32);
    cuzk_status s = build(out, facts, a, scratch, p, seed, workers, control, err);
    memcpy(facts->comm_r, out->comm_r, 32);
    arena_destroy(scratch);
    return s;
}

void synth_porep_registered(porep_registered *out, uint64_t sector_bytes) {
    for (unsigned number = 5; number < 10; number++) {
        const char *name = porep_registered_name(number);
        bool known = porep_registered_by_name(out, name, strlen(name));
        assert(known);
        (void)known;
        if (out->sector_bytes == sector_bytes) return;
    }
    const char *smallest = porep_registered_name(5);
    porep_registered_by_name(out, smallest, strlen(smallest));
}

/* ---- files ---- */

static cuzk_status write_request(const porep_request *q, const char *path, cuzk_error *err) {
    uint64_t miner = 0;
    const struct {
        const char *key;
        const uint8_t *bytes;
    } all[] = {{"prover_id", q->prover_id},
               {"ticket", q->ticket},
               {"seed", q->seed},
               {"comm_d", q->comm_d},
               {"comm_r", q->comm_r}};
    json_out *o = json_out_create();
    if (!o) return cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    json_begin_object(o);
    json_put_key(o, "registered_proof");
    json_put_string(o, porep_registered_name(q->registered.number));
    if (porep_miner_id(&miner, q->prover_id)) {
        json_put_key(o, "miner_id");
        json_put_u64(o, miner);
    }
    json_put_key(o, "sector_number");
    json_put_u64(o, q->sector_number);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) facts_put_bytes(o, all[i].key, all[i].bytes);
    json_end_object(o);
    cuzk_status s = facts_write(o, path, err);
    json_out_destroy(o);
    return s;
}

cuzk_status synth_porep(const porep_params *p, const porep_registered *registered, uint64_t seed, const char *folder,
                        pool *workers, const cuzk_control *control, char c1_path[SYNTH_PATH_BYTES],
                        char request_path[SYNTH_PATH_BYTES], cuzk_error *err) {
    porep_c1 c1;
    porep_request facts;
    buffer text = {0};
    size_t len = 0;
    if (strlen(folder) + sizeof "/request.json" > SYNTH_PATH_BYTES)
        return cuzk_fail(err, CUZK_USAGE, "the path is too long");
    snprintf(c1_path, SYNTH_PATH_BYTES, "%s/c1.json", folder);
    snprintf(request_path, SYNTH_PATH_BYTES, "%s/request.json", folder);
    arena *a = arena_create(BUFFER_REQUEST, 0, err);
    if (!a) return err->status;
    cuzk_status s = synth_porep_build(&c1, &facts, a, p, registered, seed, workers, control, err);
    if (s == CUZK_OK) s = file_make_folders(folder, err);
    if (s == CUZK_OK) s = porep_c1_write(&text, &len, &c1, err);
    if (s == CUZK_OK) s = file_write_all(c1_path, text.data, len, false, err);
    if (s == CUZK_OK) s = write_request(&facts, request_path, err);
    buffer_free(&text);
    arena_destroy(a);
    return s;
}
