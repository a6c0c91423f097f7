/* Writer of commit-phase-1 output: the envelope form, members in the order of the official tools, no white space. */
#include <assert.h>
#include <string.h>
#include "circuit/porep/vanilla.h"

/* The buffer is sized beforehand from the shape, so that writing needs no check a number. */
typedef struct writer {
    char *at;
    const porep_params *p;
} writer;

static void put(writer *w, const char *text) {
    size_t n = strlen(text);
    memcpy(w->at, text, n);
    w->at += n;
}

static void put_number(writer *w, uint64_t v) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    while (n > 0) *w->at++ = digits[--n];
}

static void put_bytes(writer *w, const uint8_t b[32]) {
    for (int i = 0; i < 32; i++) {
        *w->at++ = i == 0 ? '[' : ',';
        put_number(w, b[i]);
    }
    *w->at++ = ']';
}

static void put_node(writer *w, const fr *v) {
    uint8_t b[32];
    fr_to_le_bytes(b, v);
    put_bytes(w, b);
}

static void put_nodes(writer *w, const fr *v, unsigned n) {
    *w->at++ = '[';
    for (unsigned i = 0; i < n; i++) {
        if (i > 0) *w->at++ = ',';
        put_node(w, &v[i]);
    }
    *w->at++ = ']';
}

static void put_path(writer *w, const merkle_form *f, const merkle_path *path, unsigned from, unsigned to) {
    put(w, "{\"path\":[");
    for (unsigned i = from; i < to; i++) {
        put(w, i > from ? ",{\"hashes\":" : "{\"hashes\":");
        put_nodes(w, path->level[i].siblings, f->arity[i] - 1u);
        put(w, ",\"index\":");
        put_number(w, path->level[i].index);
        put(w, "}");
    }
    put(w, "]}");
}

static void put_merkle(writer *w, const merkle_form *f, const merkle_path *path) {
    bool single = f->hash == MERKLE_SHA256 || w->p->v == 0, top = !single && w->p->w != 0;
    unsigned base = single ? f->levels : f->levels - (top ? 2u : 1u);
    if (single) {
        put(w, "{\"data\":{\"Single\":{\"root\":");
        put_node(w, &path->root);
        put(w, ",\"leaf\":");
        put_node(w, &path->leaf);
        put(w, ",\"path\":");
        put_path(w, f, path, 0, base);
        put(w, "}}}");
        return;
    }
    put(w, top ? "{\"data\":{\"Top\":{\"base_proof\":" : "{\"data\":{\"Sub\":{\"base_proof\":");
    put_path(w, f, path, 0, base);
    put(w, ",\"sub_proof\":");
    put_path(w, f, path, base, base + 1);
    if (top) {
        put(w, ",\"top_proof\":");
        put_path(w, f, path, base + 1, base + 2);
    }
    put(w, ",\"root\":");
    put_node(w, &path->root);
    put(w, ",\"leaf\":");
    put_node(w, &path->leaf);
    put(w, "}}}");
}

static void put_column(writer *w, const porep_column *c) {
    put(w, "{\"column\":{\"index\":");
    put_number(w, c->index);
    put(w, ",\"rows\":");
    put_nodes(w, c->rows, w->p->layers);
    put(w, ",\"_h\":null},\"inclusion_proof\":");
    put_merkle(w, &w->p->tree_r, &c->path);
    put(w, "}");
}

static void put_labeling(writer *w, const porep_labeling *l) {
    put(w, "{\"parents\":");
    put_nodes(w, l->parents, POREP_LABEL_PARENTS);
    put(w, ",\"layer_index\":");
    put_number(w, l->layer);
    put(w, ",\"node\":");
    put_number(w, l->node);
    put(w, "}");
}

static void put_challenge(writer *w, const porep_challenge *c) {
    put(w, "{\"comm_d_proofs\":");
    put_merkle(w, &w->p->tree_d, &c->d);
    put(w, ",\"comm_r_last_proof\":");
    put_merkle(w, &w->p->tree_r, &c->r);
    put(w, ",\"replica_column_proofs\":{\"c_x\":");
    put_column(w, &c->x);
    for (unsigned i = 1; i <= POREP_PARENTS; i++) {
        if (i == 1) put(w, ",\"drg_parents\":[");
        if (i == 1 + POREP_DRG_PARENTS) put(w, "],\"exp_parents\":[");
        if (i != 1 && i != 1 + POREP_DRG_PARENTS) put(w, ",");
        put_column(w, porep_column_of(c, i));
    }
    put(w, "]},\"labeling_proofs\":[");
    for (unsigned i = 0; i < w->p->layers; i++) {
        if (i > 0) put(w, ",");
        put_labeling(w, &c->labels[i]);
    }
    put(w, "],\"encoding_proof\":");
    put_labeling(w, &c->encoding);
    put(w, "}");
}

/* More than one challenge takes: 132 characters a node, 48 of frame a level, the rest in round numbers. */
static size_t challenge_bound(const porep_params *p) {
    size_t tree_d = 0, tree_r = 0;
    for (unsigned i = 0; i < p->tree_d.levels; i++) tree_d += 48 + 132 * (p->tree_d.arity[i] - 1u);
    for (unsigned i = 0; i < p->tree_r.levels; i++) tree_r += 48 + 132 * (p->tree_r.arity[i] - 1u);
    size_t tree = 2 * 132 + 160, column = p->layers * 132u + 100 + tree_r + tree;
    size_t labeling = POREP_LABEL_PARENTS * 132u + 80;
    return 512 + tree_d + tree + tree_r + tree + (1 + POREP_PARENTS) * column + (p->layers + 1) * labeling;
}

static const char *vanilla_name(uint64_t sector_bytes) {
    /* The plain names are the numbers 0 to 4. */
    porep_registered r;
    for (unsigned i = 0; i < 5; i++) {
        const char *name = porep_registered_name(i);
        if (name && porep_registered_by_name(&r, name, strlen(name)) && r.sector_bytes == sector_bytes) return name;
    }
    return NULL;
}

cuzk_status porep_c1_write(buffer *out, size_t *len, const porep_c1 *c1, cuzk_error *err) {
    const porep_params *p = &c1->params;
    const char *name = vanilla_name(c1->registered.sector_bytes);
    assert(c1->has_registered && name);
    size_t bound = 2048 + c1->n_partitions * (4 + p->challenges * challenge_bound(p));
    cuzk_status s = buffer_alloc(out, BUFFER_REQUEST, bound, err);
    if (s != CUZK_OK) return s;
    writer w = {out->data, p};
    put(&w, "{\"registered_proof\":\"");
    put(&w, porep_registered_name(c1->registered.number));
    put(&w, "\",\"vanilla_proofs\":{\"");
    put(&w, name);
    put(&w, "\":[");
    for (unsigned k = 0; k < c1->n_partitions; k++) {
        put(&w, k > 0 ? ",[" : "[");
        for (unsigned i = 0; i < p->challenges; i++) {
            if (i > 0) put(&w, ",");
            put_challenge(&w, &c1->partitions[k].challenges[i]);
        }
        put(&w, "]");
    }
    const struct {
        const char *text;
        const uint8_t *bytes;
    } rest[] = {{"]},\"comm_r\":", c1->comm_r},
                {",\"comm_d\":", c1->comm_d},
                {",\"replica_id\":", c1->replica_id},
                {",\"seed\":", c1->seed},
                {",\"ticket\":", c1->ticket}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        put(&w, rest[i].text);
        put_bytes(&w, rest[i].bytes);
    }
    put(&w, "}");
    *len = (size_t)(w.at - (char *)out->data);
    assert(*len <= bound);
    buffer_shrink(out, *len);
    return CUZK_OK;
}
