/* Open addressing with linear probing, at most half full. Coefficients are static data of circuits, not chosen by an
 * opponent, and Montgomery residues are well mixed: one multiplication is hash enough. */
#include "r1cs/coeff_table.h"

#include <string.h>

static cuzk_status resize(coeff_table *t, uint32_t cap, cuzk_error *err) {
    buffer values, slots;
    cuzk_status s = buffer_alloc_array(&values, BUFFER_SHAPE, cap, sizeof(fr), err);
    if (s != CUZK_OK) return s;
    s = buffer_alloc_array(&slots, BUFFER_SHAPE, cap, 2 * sizeof(uint32_t), err);
    if (s != CUZK_OK) {
        buffer_free(&values);
        return s;
    }
    if (t->count > 0) memcpy(values.data, t->values, t->count * sizeof(fr));
    buffer_free(&t->values_memory);
    buffer_free(&t->slots_memory);
    t->values_memory = values;
    t->slots_memory = slots;
    t->values = values.data;
    t->slots = slots.data;
    t->cap = cap;
    t->slot_mask = 2 * cap - 1;
    return CUZK_OK;
}

static uint32_t slot_of(const coeff_table *t, const fr *k) {
    uint64_t h = (k->l[0] ^ k->l[1] << 1 ^ k->l[2] << 2 ^ k->l[3] << 3) * 0x9e3779b97f4a7c15ull;
    uint32_t slot = (uint32_t)(h >> 32) & t->slot_mask;
    while (t->slots[slot] != 0 && !fr_eq(&t->values[t->slots[slot] - 1], k)) slot = (slot + 1) & t->slot_mask;
    return slot;
}

static uint32_t insert(coeff_table *t, const fr *k) {
    t->values[t->count] = *k;
    t->slots[slot_of(t, k)] = t->count + 1;
    return t->count++;
}

uint32_t coeff_table_find(coeff_table *t, const fr *k, cuzk_error *err) {
    uint32_t slot = slot_of(t, k);
    if (t->slots[slot] != 0) return t->slots[slot] - 1;
    if (t->count == t->cap) {
        if (t->cap >= 1u << 30) {
            cuzk_fail(err, CUZK_INTERNAL, "the circuit has too many different coefficients");
            return UINT32_MAX;
        }
        if (resize(t, t->cap * 2, err) != CUZK_OK) return UINT32_MAX;
        uint32_t n = t->count;
        for (uint32_t i = 0; i < n; i++) t->slots[slot_of(t, &t->values[i])] = i + 1;
    }
    return insert(t, k);
}

cuzk_status coeff_table_init(coeff_table *t, cuzk_error *err) {
    *t = (coeff_table){.minus_one = fr_minus_one()};
    fr_set_one(&t->one);
    cuzk_status s = resize(t, 2048, err);
    if (s != CUZK_OK) return s;
    insert(t, &t->one);
    insert(t, &t->minus_one);
    return CUZK_OK;
}

void coeff_table_free(coeff_table *t) {
    buffer_free(&t->values_memory);
    buffer_free(&t->slots_memory);
    *t = (coeff_table){0};
}
