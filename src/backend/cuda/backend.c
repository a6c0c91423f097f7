/* The C side of the CUDA backend; see backend/cuda/backend.h. Kernels and device memory are behind gpu.h, in a module
 * loaded at run time. */
#include "backend/cuda/backend.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/cuda/resident.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/random.h"

/* ---- the module ---- */

static const gpu_api *api;
static char why_not[400];
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void *open_module(void) {
    const char *named = getenv("CUZK_CUDA_MODULE");
    if (named && *named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    char self[4096], beside[4200];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        snprintf(beside, sizeof beside, "%s/libcuzk-cuda.so", dirname(self));
        void *m = access(beside, R_OK) == 0 ? dlopen(beside, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (m) return m;
    }
    return dlopen("libcuzk-cuda.so", RTLD_NOW | RTLD_LOCAL);
}

static void load(void) {
    void *m = open_module();
    if (!m) {
        const char *e = dlerror();
        snprintf(why_not, sizeof why_not, "the CUDA module libcuzk-cuda.so could not be loaded: %s",
                 e ? e : "not found");
        return;
    }
    gpu_api_entry entry;
    *(void **)&entry = dlsym(m, GPU_API_ENTRY);
    const gpu_api *a = entry ? entry() : NULL;
    if (!a || a->version != GPU_API_VERSION) {
        snprintf(why_not, sizeof why_not, "the CUDA module is of version %" PRIu32 ", this program needs %u",
                 a ? a->version : 0, GPU_API_VERSION);
        return;
    }
    if (a->count() == 0) {
        snprintf(why_not, sizeof why_not, "the CUDA module is there, but no driver or no device answers");
        return;
    }
    api = a;
}

const gpu_api *cuda_module(void) {
    pthread_once(&loaded, load);
    return api;
}

/* ---- proofs ---- */

#define PENDING_BYTES 4096u /* a pending proof's tracked bytes on the host */

struct pending_proof {
    buffer self; /* class WITNESS: r and s are secret */
    unsigned device;
    const proving_key *key;
    uint64_t constraints;
    resident *shape, *resident_key;
    gpu_proof *gpu;
    uint64_t streamed_bytes; /* pinned for a key that is not whole on the device */
    fr r, s;
    double started;
};

static void cuda_abandon(pending_proof *d) {
    if (!d) return;
    if (d->gpu) api->proof_destroy(d->gpu);
    if (d->streamed_bytes) pinned_leave(d->device);
    resident_give(d->shape);
    resident_give(d->resident_key);
    buffer self = d->self;
    buffer_free(&self);
}

static cuzk_status take_residents(pending_proof *d, unsigned device, const prove_request *req, pool *p,
                                  const cuzk_control *control, cuzk_error *err) {
    const shape *s = req->shape;
    shape_on_device of_shape = {s, &req->key->root};
    cuzk_status st = resident_take(&d->shape, device, shape_id(s), false, resident_make_shape, &of_shape, control, err);
    d->resident_key = st == CUZK_OK ? resident_take_present(device, req->key->id, true) : NULL;
    if (st != CUZK_OK || d->resident_key) return st;
    key_making m = {req->key, s, d->shape->object};
    if (req->key->recipe)
        return resident_take(&d->resident_key, device, req->key->id, true, setup_make_key, &m, control, err);
    uint64_t shape_bytes, limit;
    gpu_proof_size proof;
    key_on_device k = {.key = req->key, .source = stream_source(req->key), .p = p, .control = control};
    api->shape_needs(d->shape->object, &shape_bytes, &proof);
    st = stream_limit(device, &limit, err);
    if (st == CUZK_OK)
        st = stream_layout(&k.layout, &k.source, shape_bytes, &proof, stream_at_once(device), limit, err);
    if (st == CUZK_OK)
        st = resident_take(&d->resident_key, device, req->key->id, true, stream_make_key, &k, control, err);
    return st;
}

static cuzk_status check_witness(const prove_request *q, cuzk_error *err) {
    cs_counts n = shape_counts(q->shape);
    const witness *w = q->witness;
    uint64_t fields = shape_fields(q->shape);
    if (w->n_inputs == n.inputs && w->n_aux == n.aux && w->n_fields == fields) {
        if (fr_is_one(&w->inputs[0])) return CUZK_OK; /* evaluation takes ONE for granted, the sums do not */
        return cuzk_fail(err, CUZK_UNSATISFIED, "the witness's first input is not one");
    }
    cuzk_fail(err, CUZK_FOREIGN, "the witness belongs to another circuit");
    cuzk_fail_expected(err, "%" PRIu64 " inputs, %" PRIu64 " auxiliary variables, %" PRIu64 " of them field elements",
                       n.inputs, n.aux, fields);
    return cuzk_fail_found(err, "%" PRIu32 ", %" PRIu64 ", %" PRIu64, w->n_inputs, w->n_aux, w->n_fields);
}

/* What the proof holds from now on, or may take. */
static void tell(const prove_request *req, uint64_t pinned_bytes) {
    if (req->holds) req->holds(req->holds_user, PENDING_BYTES + pinned_bytes);
}

/* Shape, key and a proof's memory on the device, then the witness, then all the work; in this order, and the cancel
 * flag is looked at between. */
static cuzk_status start(pending_proof *d, unsigned device, const prove_request *req, pool *p,
                         const cuzk_control *control, cuzk_error *err) {
    cuzk_status st = upload_cancelled(control, err);
    if (st == CUZK_OK) st = take_residents(d, device, req, p, control, err);
    if (st == CUZK_OK) st = upload_cancelled(control, err);
    if (st != CUZK_OK) return st;
    do st = api->proof_open(&d->gpu, d->shape->object, d->resident_key->object, err);
    while (st == CUZK_MEMORY && resident_put_out_one(device));
    if (st == CUZK_OK) st = upload_witness(d->gpu, req->witness, req->shape, p, control, err);
    if (st == CUZK_OK) st = upload_cancelled(control, err);
    if (st != CUZK_OK) return st;
    gpu_key_layout layout = api->key_layout(d->resident_key->object);
    if (layout.sections == GPU_WHOLE_KEY) return api->proofs_run(&d->gpu, 1, NULL, err);
    /* The witness is not needed on the host while the key is read, which takes long. */
    gpu_key_source source = stream_source(req->key);
    witness_free(req->witness);
    tell(req, stream_pinned_bytes(&source));
    if (req->witness_gone) req->witness_gone(req->holds_user);
    return pass_run(d->gpu, device, req->key, d->resident_key, d->shape, &d->streamed_bytes, p, control, err);
}

static cuzk_status cuda_start(unsigned device, pending_proof **out, prove_request *req, pool *p,
                              const cuzk_control *control, cuzk_error *err) {
    pending_proof *d = NULL;
    buffer self = {0};
    *out = NULL;
    cuzk_status st =
        device < api->count() ? CUZK_OK : cuzk_fail(err, CUZK_DEVICE, "there is no CUDA device %u", device);
    if (st == CUZK_OK) st = proving_key_fits(req->key, req->shape, err);
    if (st == CUZK_OK) st = check_witness(req, err);
    if (st == CUZK_OK) st = buffer_alloc(&self, BUFFER_WITNESS, sizeof *d, err);
    if (st == CUZK_OK) {
        d = self.data;
        d->self = self;
        d->device = device;
        d->key = req->key;
        d->r = req->r;
        d->s = req->s;
        d->constraints = shape_counts(req->shape).constraints;
        d->started = cpu_monotonic_seconds();
        st = start(d, device, req, p, control, err);
    }
    witness_free(req->witness);
    if (st == CUZK_OK) {
        tell(req, d->streamed_bytes);
        *out = d;
    } else {
        cuda_abandon(d);
    }
    return st;
}

#define JOIN(G)                                                                                                        \
    void cuda_join_##G(G *out, const gpu_msm_sum *m, const void *bits) {                                               \
        const G##_xyzz *w = m->data;                                                                                   \
        G part;                                                                                                        \
        G##_set_infinity(out);                                                                                         \
        for (unsigned i = m->windows; i-- > 0;) {                                                                      \
            for (unsigned j = 0; j < m->c; j++) G##_dbl(out, out);                                                     \
            G##_from_xyzz(&part, &w[i]);                                                                               \
            G##_add(out, out, &part);                                                                                  \
        }                                                                                                              \
        if (!bits) return;                                                                                             \
        G##_from_xyzz(&part, bits);                                                                                    \
        G##_add(out, out, &part);                                                                                      \
    }
JOIN(g1)
JOIN(g2)

static cuzk_status cuda_finish(pending_proof *d, groth16_proof *out, prove_times *times, cuzk_error *err) {
    gpu_sums g;
    groth16_sums sums;
    cuzk_status st = api->proof_wait(d->gpu, &g, err);
    if (st != CUZK_OK) goto done;
    double t = cpu_monotonic_seconds();
    if (g.bad.fault != GPU_POINT_OK) {
        st = stream_bad_point(d->key, &g.bad, err);
        goto done;
    }
    if (g.first_bad != UINT64_MAX) {
        st = cuzk_fail(err, CUZK_UNSATISFIED, "the witness does not satisfy constraint %" PRIu64, g.first_bad);
        cuzk_fail_where(err, "constraint %" PRIu64 " of %" PRIu64, g.first_bad, d->constraints);
        cuzk_fail_expected(err, "A * B = C");
        goto done;
    }
    cuda_join_g1(&sums.h, &g.h, NULL);
    cuda_join_g1(&sums.l, &g.l, g.l_bits);
    cuda_join_g1(&sums.a, &g.a, g.a_bits);
    cuda_join_g1(&sums.b_g1, &g.b_g1, g.b_g1_bits);
    cuda_join_g2(&sums.b_g2, &g.b_g2, g.b_g2_bits);
    groth16_assemble(out, &d->key->vk, &sums, &d->r, &d->s);
    secure_wipe(&sums, sizeof sums);
    double now = cpu_monotonic_seconds();
    if (times)
        *times = (prove_times){.eval = g.eval,
                               .ntt = g.ntt,
                               .msm_h = g.msm_h + g.streamed, /* not known section by section */
                               .msm_l = g.msm_l,
                               .msm_a = g.msm_a,
                               .msm_b_g1 = g.msm_b_g1,
                               .msm_b_g2 = g.msm_b_g2,
                               .finish = now - t,
                               .total = now - d->started};
done:
    cuda_abandon(d);
    return st;
}

static cuzk_status cuda_plan(unsigned device, const shape *s, unsigned threads, uint64_t host_limit,
                             uint64_t device_limit, prove_plan *out, cuzk_error *err) {
    ntt_root root = ntt_root_bellman(); /* the tables' size does not depend on it */
    shape_source src;
    cuzk_status st = shape_source_make(&src, s, &root, err);
    if (st != CUZK_OK) return st;
    uint64_t words = (src.gpu.n_aux + 63) / 64, in_a = 0, in_b = 0;
    for (uint64_t w = 0; w < words; w++) {
        in_a += (uint64_t)__builtin_popcountll(src.gpu.a_density[w]);
        in_b += (uint64_t)__builtin_popcountll(src.gpu.b_density[w]);
    }
    gpu_key_source k = {.n_h = (uint32_t)((1ull << src.gpu.log2) - 1),
                        .n_l = src.gpu.n_aux,
                        .n_a = (uint32_t)(src.gpu.n_inputs + in_a),
                        .n_b = (uint32_t)(src.gpu.n_b_inputs + in_b)};
    memset(out, 0, sizeof *out);
    gpu_key_layout layout;
    uint32_t n_inputs = src.gpu.n_inputs, log2 = src.gpu.log2;
    uint64_t shape_bytes = api->shape_bytes(&src.gpu);
    gpu_proof_size proof = api->proof_size(&src.gpu);
    uint64_t source_bytes = upload_tracked_bytes(src.made.bytes);
    shape_source_free(&src);
    bool own_limit = !device_limit;
    if (own_limit) st = stream_limit(device, &device_limit, err);
    if (st != CUZK_OK) return st;
    st = stream_layout(&layout, &k, shape_bytes, &proof, stream_at_once(device), device_limit, err);
    if (st == CUZK_MEMORY && own_limit) err->status = st = CUZK_TOO_LARGE; /* the device has no more */
    if (st != CUZK_OK) return st;
    out->device_shared_bytes = shape_bytes + api->key_bytes(&k, &layout);
    out->device_bytes = out->device_shared_bytes + proof.own + (layout.work_bytes ? 0 : proof.work);
    out->device_making_bytes = api->setup_bytes(n_inputs, k.n_l, log2);
    stream_chunk_bytes(&k, &layout, &out->chunks);
    uint64_t pinned = stream_pinned_bytes(&k), pieces = upload_piece_bytes(s, threads);
    out->host_by_class[BUFFER_WITNESS] = upload_witness_bytes(s) + pieces + PENDING_BYTES;
    out->host_by_class[BUFFER_PINNED] = pinned;
    out->host_by_class[BUFFER_SHAPE] = source_bytes;
    /* The shape goes up before the key, the key before a lazy witness's pieces, and what is streamed of it when the
     * witness is gone. */
    uint64_t most = layout.sections && pinned > pieces ? pinned : pieces;
    out->host_bytes = out->host_by_class[BUFFER_WITNESS] - pieces + (most > source_bytes ? most : source_bytes);
    if (out->host_bytes < PENDING_BYTES + pinned) out->host_bytes = PENDING_BYTES + pinned;
    if (!host_limit || out->host_bytes <= host_limit) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "the proof does not fit the host memory limit");
    cuzk_fail_expected(err, "%" PRIu64 " bytes", out->host_bytes);
    return cuzk_fail_found(err, "a limit of %" PRIu64 " bytes", host_limit);
}

static unsigned cuda_count(void) {
    return api->count();
}

static cuzk_status cuda_info(unsigned device, backend_device_info *out, cuzk_error *err) {
    gpu_facts f;
    cuzk_status st = api->info(device, &f, err);
    if (st != CUZK_OK) return st;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", f.name);
    out->memory_bytes = f.memory_bytes;
    out->free_bytes = f.free_bytes;
    return CUZK_OK;
}

void backend_cuda_memory(unsigned device, uint64_t *live, uint64_t *peak) {
    *live = *peak = 0;
    if (api) api->memory(device, live, peak);
}

void backend_cuda_fail_at(unsigned n, bool memory) {
    if (cuda_module()) api->fail_at(n, memory);
}

void backend_cuda_evict(void) {
    while (api && resident_put_out_one(UINT32_MAX)) {
    }
}

const backend *backend_cuda(const char **why) {
    static const backend b = {
        .version = BACKEND_VERSION,
        .name = "cuda",
        .makes_keys = true,
        .lazy_witness = true,
        .device_count = cuda_count,
        .device_info = cuda_info,
        .plan = cuda_plan,
        .prove_start = cuda_start,
        .prove_finish = cuda_finish,
        .prove_abandon = cuda_abandon,
        .forget_key = resident_forget_key,
        .self_test = backend_cuda_self_test,
        .limit_memory = backend_cuda_limit_memory,
        .proofs_at_once = backend_cuda_proofs_at_once,
    };
    pthread_once(&loaded, load);
    if (why) *why = api ? "" : why_not;
    return api ? &b : NULL;
}
