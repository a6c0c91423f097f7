/* circuit list, circuit info, circuit hash, version. */
#include "cli/cli.h"

#include "base/cpu.h"

static void list_one(void *user, const char *name, const char *kind, uint64_t sector_bytes, const char *variant) {
    (void)kind, (void)sector_bytes, (void)variant;
    json_put_string(user, name);
}

cuzk_status cmd_circuit_list(const args *a, json_out *o, cuzk_error *err) {
    (void)a, (void)err;
    json_put_key(o, "circuits");
    json_begin_array(o);
    cuzk_circuit_list(list_one, o);
    json_end_array(o);
    return CUZK_OK;
}

static void put_counts(json_out *o, const cuzk_circuit_info *info) {
    put_text(o, "name", info->name);
    put_number(o, "inputs", info->inputs);
    put_number(o, "aux", info->aux);
    put_number(o, "constraints", info->constraints);
    json_put_key(o, "nnz");
    json_begin_array(o);
    for (int i = 0; i < 3; i++) json_put_u64(o, info->nnz[i]);
    json_end_array(o);
    put_number(o, "a_aux_density", info->a_aux_density);
    put_number(o, "b_input_density", info->b_input_density);
    put_number(o, "b_aux_density", info->b_aux_density);
}

cuzk_status cmd_circuit_info(const args *a, json_out *o, cuzk_error *err) {
    cuzk_circuit *c;
    cuzk_circuit_info info;
    if (open_circuit(a, &c, err)) return err->status;
    cuzk_status s = cuzk_circuit_info_get(a->context, c, &info, a->control, err);
    if (!s) {
        put_counts(o, &info);
        put_number(o, "domain_log2", info.domain_log2);
        put_number(o, "partitions", info.partitions);
        put_text(o, "params_file", info.params_file);
        put_text(o, "vk_file", info.vk_file);
        put_number(o, "params_bytes", info.params_bytes);
        put_text(o, "cache_identifier", info.cache_identifier);
        put_number(o, "shape_bytes", info.shape_bytes);
    }
    cuzk_circuit_close(c);
    return s;
}

cuzk_status cmd_circuit_hash(const args *a, json_out *o, cuzk_error *err) {
    cuzk_circuit *c;
    cuzk_circuit_info info;
    checkpoint_file *file = NULL;
    const char *path = a->value[OPT_CHECKPOINTS];
    uint8_t digest[32];
    if (path && check_output(a, path, err)) return err->status;
    if (open_circuit(a, &c, err)) return err->status;
    cuzk_status s = path ? checkpoint_open(&file, path, "blake2s256", err) : CUZK_OK;
    if (!s) s = cuzk_circuit_info_get(a->context, c, &info, a->control, err);
    if (!s) {
        s = cuzk_circuit_hash(a->context, c, digest, path ? checkpoint_add : NULL, file, a->control, err);
    }
    if (!s && path) {
        s = checkpoint_commit(file, err);
        file = NULL;
    }
    if (!s) {
        put_counts(o, &info);
        put_hex(o, "blake2s256", digest, sizeof digest);
    }
    checkpoint_abort(file);
    cuzk_circuit_close(c);
    return s;
}

static void list_device(void *user, const char *name) {
    json_put_string(user, name);
}

cuzk_status cmd_version(const args *a, json_out *o, cuzk_error *err) {
    (void)a, (void)err;
    put_text(o, "version", cuzk_version());
    put_text(o, "kernels", cuzk_cpu_kernels());
    put_text(o, "cpu", cuzk_cpu_model());
    put_number(o, "threads", cpu_get()->threads);
    put_number(o, "memory_bytes", cpu_get()->memory_bytes);
    json_put_key(o, "devices");
    json_begin_array(o);
    cuzk_device_list(list_device, o);
    json_end_array(o);
    return CUZK_OK;
}
