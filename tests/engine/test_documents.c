/* The status document and the metrics: of a picture with something of everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/documents.h"
#include "ref/lacks.h"

static const char hostile_id[] = "a\"b\\c\n<img src=x>\x01\xff";

static partition_view partitions[3] = {
    {.state = PARTITION_DONE, .attempts = 1, .device = "cuda:0", .synth_seconds = 1.5, .gpu_seconds = 2.25},
    {.state = PARTITION_PROVING, .attempts = 2, .device = "cuda:0", .synth_seconds = 1, .gpu_seconds = 0.5},
    {.state = PARTITION_SYNTHESIZING, .synth_seconds = 0.25, .gpu_seconds = -1},
};

static job_view jobs[3];
static device_view devices[2];
static worker_view workers[3];
static resource_view resource_views[2];

static engine_view picture(void) {
    engine_view v = {.uptime_seconds = 12.3456, .n_jobs = 3, .n_devices = 2, .n_workers = 3, .n_resources = 2};
    jobs[0] = (job_view){.seq = 1,
                         .kind = "porep",
                         .circuit = "porep-32gib",
                         .state = CUZK_JOB_RUNNING,
                         .priority = CUZK_PRIORITY_NORMAL,
                         .age_seconds = 4,
                         .started_seconds_ago = 3,
                         .finished_seconds_ago = -1,
                         .n_partitions = 3,
                         .partitions_done = 1,
                         .partitions = partitions};
    snprintf(jobs[0].job_id, sizeof jobs[0].job_id, "%s", hostile_id);
    jobs[1] = (job_view){.seq = 2,
                         .job_id = "queued",
                         .kind = "winning-post",
                         .state = CUZK_JOB_QUEUED,
                         .priority = CUZK_PRIORITY_CRITICAL,
                         .age_seconds = 1,
                         .started_seconds_ago = -1,
                         .finished_seconds_ago = -1};
    jobs[2] = (job_view){.seq = 3,
                         .job_id = "old",
                         .kind = "snap",
                         .circuit = "snap-32gib",
                         .state = CUZK_JOB_FAILED,
                         .age_seconds = 90,
                         .started_seconds_ago = 80,
                         .finished_seconds_ago = 40,
                         .n_partitions = 1,
                         .partitions = partitions,
                         .times = {.synthesis = 1, .total = 50}};
    static cuzk_error lost;
    jobs[2].error = &lost;
    cuzk_fail(&lost, CUZK_DEVICE, "the device is lost");
    devices[0] = (device_view){.id = "cuda:0",
                               .name = "GPU \"one\"",
                               .memory_bytes = 1 << 30,
                               .proofs = 7,
                               .busy_seconds = 8.5,
                               .budget = {.total = 1000, .reserved = 400}};
    devices[1] = (device_view){
        .id = "cuda:1", .name = "GPU two", .ordinal = 1, .quarantined = true, .why = "5 faults", .faults = 5};
    workers[0] = (worker_view){.lane = "synthesis 0",
                               .device = UINT32_MAX,
                               .busy = true,
                               .job_seq = 1,
                               .partition = 2,
                               .kind = "porep",
                               .busy_seconds = 0.25};
    workers[1] = (worker_view){.lane = "cuda:0 worker 0",
                               .device = 0,
                               .busy = true,
                               .job_seq = 1,
                               .partition = 1,
                               .job_id = "one",
                               .kind = "porep",
                               .busy_seconds = 0.5};
    workers[2] = (worker_view){.lane = "cuda:1 worker 0", .device = 1};
    resource_views[0] = (resource_view){
        .circuit = "porep-32gib", .tier = RESOURCE_RESIDENT, .key_bytes = 48, .shape_bytes = 5, .references = 1};
    resource_views[1] = (resource_view){.circuit = "window-post-32gib", .tier = RESOURCE_DISK, .key_bytes = 49};
    v.jobs = jobs, v.devices = devices, v.workers = workers, v.resources = resource_views;
    v.host = (budget_stats){.total = 1000, .reserved = 300, .peak_reserved = 900, .critical_share = 100};
    v.kinds[0] = (kind_counters){.kind = "porep", .completed = 11, .failed = 1, .pending = 2, .running = 3};
    v.kinds[1] = (kind_counters){.kind = "toy", .completed = 5};
    v.n_kinds = 2;
    v.synthesis_workers = 4, v.synthesis_active = 1;
    v.rss_bytes = 5000, v.retries = 6, v.cpu_fallbacks = 7;
    v.classes[BUFFER_WITNESS] = (buffer_stats){.live_bytes = 70, .live_count = 2, .peak_bytes = 140};
    return v;
}

typedef struct document {
    json_out *o;
    arena *memory;
    json_node *root;
} document;

static document read_status(const engine_view *v, bool live) {
    cuzk_error e;
    size_t n;
    document d = {.o = json_out_create(), .memory = arena_create(BUFFER_OTHER, 0, &e)};
    assert_non_null(d.o);
    assert_non_null(d.memory);
    status_put(d.o, v, live);
    const char *text = json_out_text(d.o, &n);
    assert_non_null(text);
    assert_int_equal(json_tree(&d.root, d.memory, "status", text, n, n + 1, &e), CUZK_OK);
    return d;
}

static void free_document(document *d) {
    arena_destroy(d->memory);
    json_out_destroy(d->o);
}

/* The value at "memory.total_bytes" or "jobs.0.state". */
static const json_node *at(const document *d, const char *path) {
    char copy[128], *rest = copy;
    const json_node *n = d->root;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *word; n && (word = strsep(&rest, "."));) {
        n = n->kind == JSON_ARRAY ? json_at(n, strtoul(word, NULL, 10)) : json_member(n, word);
    }
    if (!n) fail_msg("%s is not there", path);
    return n;
}

static void is(const document *d, const char *path, const char *text) {
    assert_string_equal(at(d, path)->text, text);
}

static void the_older_members_mean_what_they_say(void **state) {
    (void)state;
    engine_view v = picture();
    document d = read_status(&v, false);
    is(&d, "uptime_secs", "12.346");
    is(&d, "memory.total_bytes", "1000");
    is(&d, "memory.used_bytes", "300");
    is(&d, "memory.available_bytes", "700");
    is(&d, "synthesis.max_concurrent", "4");
    is(&d, "synthesis.active", "1");
    assert_int_equal(at(&d, "pipelines")->len, 1); /* one has not begun, one ended too long ago */
    is(&d, "pipelines.0.proof_kind", "porep-c2");
    is(&d, "pipelines.0.total_partitions", "3");
    is(&d, "pipelines.0.partitions_done", "1");
    is(&d, "pipelines.0.partitions.0.state", "done");
    is(&d, "pipelines.0.partitions.0.synth_ms", "1500");
    is(&d, "pipelines.0.partitions.1.state", "gpu");
    is(&d, "pipelines.0.partitions.1.gpu_ms", "500");
    is(&d, "pipelines.0.partitions.2.state", "synthesizing");
    assert_int_equal(at(&d, "pipelines.0.partitions.2.gpu_ms")->kind, JSON_NULL);
    assert_int_equal(at(&d, "gpu_workers")->len, 2);
    is(&d, "gpu_workers.0.state", "proving");
    is(&d, "gpu_workers.0.current_job", "one");
    is(&d, "gpu_workers.0.current_partition", "1");
    is(&d, "gpu_workers.1.state", "idle");
    is(&d, "gpu_workers.1.gpu_ordinal", "1");
    assert_int_equal(at(&d, "gpu_workers.1.busy_secs")->kind, JSON_NULL);
    assert_int_equal(at(&d, "allocations.srs")->len, 1);
    is(&d, "allocations.srs.0.circuit_id", "porep-32g");
    is(&d, "allocations.srs.0.bytes", "48");
    is(&d, "allocations.pce.0.bytes", "5");
    assert_int_equal(at(&d, "allocations.srs.0.evictable")->kind, JSON_FALSE);
    is(&d, "counters.total_completed", "16");
    is(&d, "counters.total_failed", "1");
    is(&d, "counters.queue_depth", "2");
    is(&d, "counters.completed_by_kind.porep-c2", "11");
    is(&d, "buffers.aux_in_flight", "2");
    free_document(&d);
}

static void ours_are_beside_them(void **state) {
    (void)state;
    engine_view v = picture();
    document d = read_status(&v, true);
    is(&d, "jobs.0.partition_states", "dgs");
    is(&d, "jobs.1.priority", "critical");
    assert_int_equal(at(&d, "jobs.1.started_secs_ago")->kind, JSON_NULL);
    is(&d, "jobs.2.error.what", "the device is lost");
    is(&d, "jobs.2.error.name", "CUZK_DEVICE");
    is(&d, "jobs.2.seconds.total", "50");
    assert_int_equal(at(&d, "devices.1.quarantined")->kind, JSON_TRUE);
    is(&d, "devices.1.why", "5 faults");
    is(&d, "resources.1.tier", "disk");
    assert_int_equal(at(&d, "memory.classes")->len, BUFFER_CLASSES);
    assert_null(json_member(d.root, "pipelines"));
    free_document(&d);
}

static void a_long_queue_makes_no_long_document(void **state) {
    (void)state;
    enum { MANY = 5000 };
    engine_view v = picture();
    job_view *many = calloc(MANY, sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i < MANY; i++) {
        many[i] = (job_view){.seq = i + 1,
                             .kind = "porep",
                             .state = CUZK_JOB_QUEUED,
                             .started_seconds_ago = -1,
                             .finished_seconds_ago = -1};
    }
    many[MANY - 2] = jobs[0]; /* running: it comes first */
    many[MANY - 1] = jobs[2]; /* ended: it is there, too */
    v.jobs = many;
    v.n_jobs = MANY;
    for (int live = 0; live < 2; live++) {
        document d = read_status(&v, live);
        const json_node *list = at(&d, "jobs");
        size_t listed = live ? 100 : 1000;
        assert_int_equal(list->len, listed + 1);
        is(&d, "jobs.0.state", "running");
        is(&d, "jobs.1.state", "queued");
        assert_string_equal(json_member(json_at(list, listed), "job_id")->text, "old");
        is(&d, "jobs_unlisted", live ? "4899" : "3999");
        free_document(&d);
    }
    free(many);
}

static void foreign_bytes_stay_text(void **state) {
    (void)state;
    engine_view v = picture();
    document d = read_status(&v, false);
    is(&d, "jobs.0.job_id", "a\"b\\c\n<img src=x>\x01?");
    free_document(&d);
}

/* ---- metrics ---- */

static char *metrics_of(const engine_view *v) {
    cuzk_error e;
    char *text;
    trace *t = trace_create(4, 4, &e);
    assert_non_null(t);
    trace_record(t, TRACE_JOB_SUBMITTED, 1, TRACE_NO_PARTITION, "");
    trace_observe(t, "porep", "total", 3);
    trace_observe(t, "porep", "total", 1);
    trace_observe(t, "porep", "device", 0.5);
    assert_int_equal(metrics_write(v, t, &text, &e), CUZK_OK);
    trace_destroy(t);
    return text;
}

static void has(const char *text, const char *line) {
    size_t n = strlen(line);
    for (const char *p = text; (p = strstr(p, line)); p += n) {
        if ((p == text || p[-1] == '\n') && p[n] == '\n') return;
    }
    fail_msg("no line: %s", line);
}

static void metrics_have_the_values(void **state) {
    (void)state;
    engine_view v = picture();
    char *text = metrics_of(&v);
    has(text, "cuzk_proofs_completed_total 16");
    has(text, "cuzk_proofs_failed_total 1");
    has(text, "cuzk_proofs_completed{proof_kind=\"porep_c2\"} 11");
    has(text, "cuzk_proofs_completed{proof_kind=\"winning_post\"} 0");
    has(text, "cuzk_proofs_completed{proof_kind=\"toy\"} 5");
    has(text, "cuzk_queue_depth 2");
    has(text, "cuzk_running_jobs 3");
    has(text, "cuzk_gpu_workers 2");
    has(text, "cuzk_proof_duration_seconds_sum{proof_kind=\"porep_c2\"} 4");
    has(text, "cuzk_proof_duration_seconds_count{proof_kind=\"porep_c2\"} 2");
    has(text, "cuzk_proof_duration_seconds_bucket{proof_kind=\"porep_c2\",le=\"1\"} 1");
    has(text, "cuzk_proof_duration_seconds_bucket{proof_kind=\"porep_c2\",le=\"+Inf\"} 2");
    has(text, "cuzk_stage_mean_seconds{proof_kind=\"porep_c2\",stage=\"total\"} 2");
    has(text, "cuzk_stage_last_seconds{proof_kind=\"porep_c2\",stage=\"total\"} 1");
    has(text, "cuzk_stage_max_seconds{proof_kind=\"porep_c2\",stage=\"total\"} 3");
    has(text, "cuzk_stage_duration_seconds_count{proof_kind=\"porep_c2\",stage=\"device\"} 1");
    has(text, "cuzk_jobs_submitted_total 1");
    has(text, "cuzk_memory_reserved_bytes 300");
    has(text, "cuzk_buffer_bytes{class=\"witness\"} 70");
    has(text, "cuzk_device_up{device=\"cuda:0\",name=\"GPU \\\"one\\\"\"} 1");
    has(text, "cuzk_device_up{device=\"cuda:1\",name=\"GPU two\"} 0");
    has(text, "cuzk_device_busy_seconds_total{device=\"cuda:0\",name=\"GPU \\\"one\\\"\"} 8.5");
    free(text);
}

static void promtool_takes_the_metrics(void **state) {
    (void)state;
    if (test_lacks("promtool (package prometheus)", "promtool --version >/dev/null 2>&1")) skip();
    engine_view full = picture(), empty = {0};
    const engine_view *const views[] = {&full, &empty};
    for (int i = 0; i < 2; i++) {
        char *text = metrics_of(views[i]);
        FILE *f = popen("promtool check metrics 1>&2", "w");
        assert_non_null(f);
        fputs(text, f);
        int status = pclose(f);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_older_members_mean_what_they_say),
        cmocka_unit_test(ours_are_beside_them),
        cmocka_unit_test(a_long_queue_makes_no_long_document),
        cmocka_unit_test(foreign_bytes_stay_text),
        cmocka_unit_test(metrics_have_the_values),
        cmocka_unit_test(promtool_takes_the_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
