#include "ref/porep_sector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "math/poseidon.h"

static void *take(arena *a, size_t n, size_t size) {
    void *p = arena_alloc_array(a, n, size);
    if (!p) abort();
    return p;
}

static void read_value(fr *out, const uint8_t b[32]) {
    if (!fr_from_le_bytes(out, b)) abort();
}

static void make_tree(porep_sector_tree *t, arena *a, const merkle_form *f, fr *leaves) {
    uint64_t n = merkle_form_leaves(f);
    t->level[0] = leaves;
    for (unsigned l = 0; l < f->levels; l++) {
        n /= f->arity[l];
        t->level[l + 1] = take(a, n, sizeof(fr));
        for (uint64_t i = 0; i < n; i++)
            merkle_hash_node(f->hash, f->arity[l], &t->level[l + 1][i], &t->level[l][i * f->arity[l]]);
    }
}

static void read_path(const porep_sector_tree *t, const merkle_form *f, uint64_t node, merkle_path *path,
                      porep_draft_tree *to) {
    fr *sibling = to->siblings;
    path->leaf = t->level[0][node];
    path->root = t->level[f->levels][0];
    for (unsigned l = 0; l < f->levels; l++) {
        uint64_t first = node - node % f->arity[l];
        to->levels[l].index = (uint32_t)(node - first);
        for (uint64_t i = first; i < first + f->arity[l]; i++)
            if (i != node) *sibling++ = t->level[l][i];
        node /= f->arity[l];
    }
}

static void label_all(porep_sector *s) {
    unsigned layers = s->params.layers;
    for (unsigned layer = 1; layer <= layers; layer++) {
        for (uint64_t node = 0; node < s->params.nodes; node++) {
            uint64_t parents[POREP_PARENTS];
            uint8_t values[POREP_PARENTS][32], label[32];
            porep_graph_parents(&s->graph, node, parents);
            for (unsigned i = 0; i < POREP_PARENTS; i++) {
                if (layer == 1 && i >= POREP_DRG_PARENTS) break;
                unsigned row = i < POREP_DRG_PARENTS ? layer - 1 : layer - 2;
                fr_to_le_bytes(values[i], &s->rows[parents[i] * layers + row]);
            }
            porep_label(label, s->replica_id, layer, node, (const uint8_t(*)[32])values, layer == 1 ? 6 : 14);
            read_value(&s->rows[node * layers + layer - 1], label);
        }
    }
}

void porep_sector_seal(porep_sector *s, arena *a, const porep_params *p, const porep_request *facts) {
    uint64_t n = p->nodes;
    memset(s, 0, sizeof *s);
    s->params = *p;
    s->facts = *facts;
    porep_graph_init(&s->graph, n, facts->registered.api_version, facts->registered.porep_id);
    s->data = take(a, n, sizeof(fr));
    s->rows = take(a, n * p->layers, sizeof(fr));
    fr *columns = take(a, n, sizeof(fr)), *replica = take(a, n, sizeof(fr));
    for (uint64_t i = 0; i < n; i++) {
        uint8_t text[12] = "data", b[32];
        for (int k = 0; k < 8; k++) text[4 + k] = (uint8_t)(i >> (8 * k));
        hash_sha256(b, text, sizeof text);
        b[31] &= 0x3f;
        read_value(&s->data[i], b);
    }
    make_tree(&s->d, a, &p->tree_d, s->data);
    s->comm_d = s->d.level[p->tree_d.levels][0];
    fr_to_le_bytes(s->facts.comm_d, &s->comm_d);
    porep_replica_id(s->replica_id, facts->prover_id, facts->sector_number, facts->ticket, s->facts.comm_d,
                     facts->registered.porep_id);
    label_all(s);
    for (uint64_t i = 0; i < n; i++) {
        poseidon_hash(poseidon_get(p->layers), &columns[i], &s->rows[i * p->layers]);
        fr_add(&replica[i], &s->rows[i * p->layers + p->layers - 1], &s->data[i]);
    }
    make_tree(&s->c, a, &p->tree_r, columns);
    make_tree(&s->r, a, &p->tree_r, replica);
    s->comm_c = s->c.level[p->tree_r.levels][0];
    s->comm_r_last = s->r.level[p->tree_r.levels][0];
    fr both[2] = {s->comm_c, s->comm_r_last};
    poseidon_hash(poseidon_get(2), &s->comm_r, both);
    fr_to_le_bytes(s->facts.comm_r, &s->comm_r);
}

static void prove_challenge(const porep_sector *s, porep_draft *d, uint64_t node) {
    const porep_params *p = &s->params;
    porep_challenge *c = d->challenge;
    uint64_t parents[POREP_PARENTS];
    porep_graph_parents(&s->graph, node, parents);
    read_path(&s->d, &p->tree_d, node, &c->d, &d->d);
    read_path(&s->r, &p->tree_r, node, &c->r, &d->r);
    for (unsigned i = 0; i <= POREP_PARENTS; i++) {
        porep_column *col = porep_column_at(c, i);
        col->index = i == 0 ? node : parents[i - 1];
        memcpy(d->rows[i], &s->rows[col->index * p->layers], p->layers * sizeof(fr));
        read_path(&s->c, &p->tree_r, col->index, &col->path, &d->column_tree[i]);
    }
    for (unsigned layer = 1; layer <= p->layers; layer++) {
        unsigned n = layer == 1 ? POREP_DRG_PARENTS : POREP_PARENTS;
        for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++) {
            unsigned k = i % n, row = k < POREP_DRG_PARENTS ? layer - 1 : layer - 2;
            d->parents[layer - 1][i] = s->rows[parents[k] * p->layers + row];
        }
        d->labels[layer - 1].node = node;
        d->labels[layer - 1].layer = layer;
    }
    memcpy(d->parents[p->layers], d->parents[p->layers - 1], POREP_LABEL_PARENTS * sizeof(fr));
    c->encoding.node = node;
    c->encoding.layer = p->layers;
}

void porep_sector_prove(porep_c1 *out, arena *a, const porep_sector *s) {
    const porep_params *p = &s->params;
    uint64_t challenges[64];
    memset(out, 0, sizeof *out);
    out->has_registered = true;
    out->registered = s->facts.registered;
    out->vanilla_bytes = s->facts.registered.sector_bytes;
    out->params = *p;
    memcpy(out->comm_r, s->facts.comm_r, 32);
    memcpy(out->comm_d, s->facts.comm_d, 32);
    memcpy(out->replica_id, s->replica_id, 32);
    memcpy(out->seed, s->facts.seed, 32);
    memcpy(out->ticket, s->facts.ticket, 32);
    out->n_partitions = p->partitions;
    out->partitions = take(a, p->partitions, sizeof *out->partitions);
    for (unsigned k = 0; k < p->partitions; k++) {
        porep_challenge *list = take(a, p->challenges, sizeof *list);
        porep_partition *q = &out->partitions[k];
        porep_challenges(p, s->replica_id, s->facts.comm_r, s->facts.seed, k, challenges);
        for (unsigned i = 0; i < p->challenges; i++) {
            porep_draft d;
            if (!porep_draft_make(&d, a, p, &list[i])) abort();
            prove_challenge(s, &d, challenges[i]);
        }
        q->challenges = list;
        read_value(&q->replica_id, s->replica_id);
        q->comm_d = s->comm_d;
        q->comm_r = s->comm_r;
        q->comm_c = s->comm_c;
        q->comm_r_last = s->comm_r_last;
    }
}

void porep_sector_worked_facts(porep_request *facts, const char *registered) {
    memset(facts, 0, sizeof *facts);
    facts->has_registered = facts->has_prover = facts->has_sector = facts->has_ticket = facts->has_seed = true;
    facts->has_comm_d = facts->has_comm_r = true;
    if (!porep_registered_by_name(&facts->registered, registered, strlen(registered))) abort();
    memset(facts->prover_id, 1, 32);
    facts->sector_number = 42;
    memset(facts->ticket, 2, 32);
    memset(facts->seed, 3, 32);
}
