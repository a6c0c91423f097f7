/* Memory of one challenge: all its field elements in one run, all its path levels in another, so that a reader writes
 * straight into place and nothing is allocated from a length that a file claims. */
#include "circuit/porep/vanilla.h"

static unsigned sibling_count(const merkle_form *f) {
    unsigned n = 0;
    for (unsigned i = 0; i < f->levels; i++) n += f->arity[i] - 1u;
    return n;
}

typedef struct cursor {
    fr *node;
    merkle_level *level;
} cursor;

static void place_tree(cursor *at, porep_draft_tree *t, const merkle_form *f, merkle_path *path) {
    t->siblings = at->node;
    t->levels = at->level;
    for (unsigned i = 0; i < f->levels; i++) {
        at->level[i].siblings = at->node;
        at->node += f->arity[i] - 1u;
    }
    at->level += f->levels;
    path->level = t->levels;
}

porep_column *porep_column_at(porep_challenge *c, unsigned i) {
    if (i == 0) return &c->x;
    return i <= POREP_DRG_PARENTS ? &c->drg[i - 1] : &c->exp[i - 1 - POREP_DRG_PARENTS];
}

const porep_column *porep_column_of(const porep_challenge *c, unsigned i) {
    if (i == 0) return &c->x;
    return i <= POREP_DRG_PARENTS ? &c->drg[i - 1] : &c->exp[i - 1 - POREP_DRG_PARENTS];
}

bool porep_draft_make(porep_draft *out, arena *a, const porep_params *p, porep_challenge *challenge) {
    const unsigned columns = 1 + POREP_PARENTS;
    size_t nodes = sibling_count(&p->tree_d) + (size_t)(columns + 1) * sibling_count(&p->tree_r) +
                   (size_t)columns * p->layers + (size_t)(p->layers + 1) * POREP_LABEL_PARENTS;
    size_t levels = p->tree_d.levels + (size_t)(columns + 1) * p->tree_r.levels;
    cursor at = {arena_alloc_array(a, nodes, sizeof(fr)), arena_alloc_array(a, levels, sizeof(merkle_level))};
    out->labels = arena_alloc_array(a, p->layers, sizeof *out->labels);
    if (!at.node || !at.level || !out->labels) return false;

    out->challenge = challenge;
    place_tree(&at, &out->d, &p->tree_d, &challenge->d);
    place_tree(&at, &out->r, &p->tree_r, &challenge->r);
    for (unsigned i = 0; i < columns; i++) {
        porep_column *c = porep_column_at(challenge, i);
        place_tree(&at, &out->column_tree[i], &p->tree_r, &c->path);
        c->rows = out->rows[i] = at.node;
        at.node += p->layers;
    }
    for (unsigned i = 0; i <= p->layers; i++) {
        out->parents[i] = at.node;
        if (i < p->layers)
            out->labels[i].parents = at.node;
        else
            challenge->encoding.parents = at.node;
        at.node += POREP_LABEL_PARENTS;
    }
    challenge->labels = out->labels;
    return true;
}
