/* The loadable module's only outward face. */
#include "gpu.h"

extern "C" __attribute__((visibility("default"))) const gpu_api *cuzk_gpu_api(void) {
    static const gpu_api api = {
        GPU_API_VERSION,   gpu_count,        gpu_info,         gpu_memory,        gpu_memory_reset_peak,
        gpu_memory_limit,  gpu_ntt_elements, gpu_ntt_low_bits, gpu_shape_bytes,   gpu_shape_create,
        gpu_shape_destroy, gpu_shape_needs,  gpu_key_bytes,    gpu_key_create,    gpu_key_destroy,
        gpu_key_layout_of, gpu_setup,        gpu_setup_bytes,  gpu_key_read,      gpu_key_write,
        gpu_proof_size_of, gpu_proof_open,   gpu_proof_put,    gpu_proofs_run,    gpu_proof_wait,
        gpu_proof_destroy, gpu_pin,          gpu_unpin,        gpu_run_self_test, gpu_fail_at,
    };
    return &api;
}
