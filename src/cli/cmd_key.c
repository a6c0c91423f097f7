/* setup, key inspect, key verify. */
#include "cli/cli.h"

cuzk_status cmd_setup(const args *a, json_out *o, cuzk_error *err) {
    cuzk_circuit *c;
    cuzk_setup_report report;
    if (open_circuit(a, &c, err)) return err->status;
    warn_loudly("making a DEVELOPMENT KEY for %s: whoever makes it can forge proofs; never use it for real ones",
                cuzk_circuit_name(c));
    cuzk_status s =
        cuzk_setup(a->context, c, a->value[OPT_OUT], a->value[OPT_INSECURE_TRAPDOOR], &report, a->control, err);
    if (!s) {
        put_text(o, "circuit", cuzk_circuit_name(c));
        put_text(o, "key", cuzk_key_origin_name(CUZK_KEY_DEVELOPMENT));
        put_text(o, "params", report.params);
        put_number(o, "params_bytes", report.params_bytes);
        put_hex(o, "params_sha256", report.params_sha256, sizeof report.params_sha256);
        put_text(o, "vk", report.vk);
        put_seconds(o, "seconds", report.seconds);
    }
    cuzk_circuit_close(c);
    return s;
}

cuzk_status cmd_key_inspect(const args *a, json_out *o, cuzk_error *err) {
    cuzk_key_facts f;
    if (cuzk_key_inspect(a->operand[0], &f, a->control, err)) return err->status;
    put_text(o, "kind", f.proving ? "groth16 proving key" : "groth16 verifying key");
    put_text(o, "curve", f.curve);
    json_put_key(o, "counts");
    json_begin_object(o);
    put_number(o, "ic", f.ic);
    if (f.proving) {
        put_number(o, "h", f.h);
        put_number(o, "l", f.l);
        put_number(o, "a", f.a);
        put_number(o, "b_g1", f.b_g1);
        put_number(o, "b_g2", f.b_g2);
    }
    json_end_object(o);
    put_number(o, "bytes", f.bytes);
    put_hex(o, "sha256", f.sha256, sizeof f.sha256);
    put_number(o, "vk_bytes", f.vk_bytes);
    put_hex(o, "vk_sha256", f.vk_sha256, sizeof f.vk_sha256);
    /* The form in which the official digests are published. */
    put_hex(o, "vk_digest", f.vk_blake2b512, 16);
    /* Short enough to compare by eye: equal for a proving key and its verifying key. */
    put_hex(o, "fingerprint", f.vk_blake2b512, 8);
    put_text(o, "key", cuzk_key_origin_name(f.origin));
    return CUZK_OK;
}

cuzk_status cmd_key_verify(const args *a, json_out *o, cuzk_error *err) {
    bool valid;
    if (cuzk_key_verify(a->context, a->operand[0], a->given[OPT_FULL], &valid, a->control, err)) return err->status;
    put_bool(o, "valid", valid);
    put_text(o, "checked", a->given[OPT_FULL] ? "every point" : "sizes, counts and the verifying-key part");
    if (valid) return CUZK_OK;
    err->status = CUZK_FALSE;
    json_put_key(o, "fault");
    json_begin_object(o);
    output_error_members(o, err);
    json_end_object(o);
    return CUZK_FALSE;
}
