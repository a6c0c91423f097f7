/* Every setting of the daemon. */
#include "daemon/config_table.h"

#include <stddef.h>

#define AT(field) offsetof(config, field)
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)
#define DAYS(n) ((uint64_t)(n)*86400)

const config_section config_sections[] = {
    {"daemon", "Where jobs are taken and the state is shown."},
    {"memory", "What may be held in the machine's memory. Every partition reserves what its proof will need before it\n"
               "starts, so no number of workers or clients can exceed this."},
    {"gpus", "Devices that prove."},
    {"synthesis", "The making of witnesses, on processors."},
    {"scheduler", "The order of work. Jobs go by priority, deadline and age; winning and window PoSt go first."},
    {"srs", "Proving keys."},
    {"keys", ""},
    {"circuits", ""},
    {"store", "Where jobs outlive the process."},
    {"cache", ""},
    {"logging", ""},
};
const size_t config_section_count = sizeof config_sections / sizeof config_sections[0];

const config_row config_rows[] = {
    {"daemon", "listen", CONFIG_TEXT_LIST, AT(listen), "\"unix:///run/cuzk/cuzk.sock\"", 0, 0, NULL, false,
     "Address of the gRPC server, or a list of at most 8: \"unix:///run/cuzk/cuzk.sock\", \"127.0.0.1:9820\".\n"},
    {"daemon", "status_listen", CONFIG_TEXT, AT(status_listen), "\"\"", 0, 0, NULL, false,
     "Address of the live page, /status, /metrics and /healthz: \"127.0.0.1:9821\". Empty: none.\n"},
    {"daemon", "socket_mode", CONFIG_MODE, AT(socket_mode), "\"0660\"", 0, 0, NULL, false,
     "Mode of unix sockets, octal, and their owner: \"user\", \"user:group\" or \":group\". Empty: the daemon's "
     "own.\n"},
    {"daemon", "socket_owner", CONFIG_TEXT, AT(socket_owner), "\"\"", 0, 0, NULL, false, ""},
    {"daemon", "tls_cert", CONFIG_TEXT, AT(tls_cert), "\"\"", 0, 0, NULL, false,
     "PEM files for TCP: the certificate and its key. With a client CA, only clients that have a certificate of it.\n"},
    {"daemon", "tls_key", CONFIG_TEXT, AT(tls_key), "\"\"", 0, 0, NULL, false, ""},
    {"daemon", "tls_client_ca", CONFIG_TEXT, AT(tls_client_ca), "\"\"", 0, 0, NULL, false, ""},
    {"daemon", "token_file", CONFIG_TEXT, AT(token_file), "\"\"", 0, 0, NULL, false,
     "A file whose first line clients must send over TCP as \"authorization: Bearer TOKEN\". Empty: none.\n"},
    {"daemon", "allow_plain_tcp", CONFIG_TRUTH, AT(allow_plain_tcp), "false", 0, 0, NULL, false,
     "Whether TCP without TLS may be used beyond this machine. Proof inputs then travel readable for everyone.\n"},
    {"daemon", "max_message", CONFIG_SIZE, AT(max_message), "\"256MiB\"", MIB, 2 * 1024 * MIB - 1, NULL, false,
     "Largest request that is taken.\n"},
    {"daemon", "request_timeout", CONFIG_SECONDS, AT(request_timeout), "\"2m\"", 1, DAYS(1), NULL, false,
     "How long a request may take to arrive once there is room for it.\n"},
    {"daemon", "drain_timeout", CONFIG_SECONDS, AT(drain_timeout), "\"10m\"", 0, DAYS(7), NULL, true,
     "How long running jobs may take to end after SIGTERM; what is left goes on at the next start.\n"},

    {"memory", "total_budget", CONFIG_SIZE_AUTO, AT(total_budget), "\"auto\"", 64 * MIB, 1024 * TIB, NULL, true,
     "\"auto\": the smaller of the machine's memory and the control group's limit, less the margin; followed while\n"
     "running. Or a size: \"200GiB\".\n"},
    {"memory", "safety_margin", CONFIG_SIZE_AUTO, AT(safety_margin), "\"auto\"", 0, 1024 * TIB, NULL, true,
     "Left to the rest of the machine when the budget is \"auto\". \"auto\": 1/16 of the memory, at most 5 GiB.\n"},
    {"memory", "critical_share", CONFIG_SIZE_AUTO, AT(critical_share), "\"auto\"", 0, 1024 * TIB, NULL, true,
     "Kept for jobs of critical priority. \"auto\": what the largest winning PoSt proof needs; 0: nothing is kept.\n"},
    {"memory", "request_limit", CONFIG_SIZE, AT(request_limit), "\"512MiB\"", MIB, 1024 * TIB, NULL, false,
     "Most bytes of requests being received or parsed at a time; others wait, unread.\n"},
    {"memory", "eviction_min_idle", CONFIG_SECONDS, AT(eviction_min_idle), "\"5m\"", 1, DAYS(365), NULL, false,
     "Keys unused for so long may be given up when memory is wanted for others.\n"},

    {"gpus", "devices", CONFIG_ORDINALS, AT(devices), "[]", 0, 0, NULL, false,
     "Ordinals of the CUDA devices to use: [0, 1]. Empty: all there are.\n"},
    {"gpus", "policy", CONFIG_CHOICE, AT(policy), "\"prefer-gpu\"", 0, 0, "prefer-gpu require-gpu cpu", true,
     "prefer-gpu: on a device, or on processors when none works. require-gpu: never on processors. cpu: never on\n"
     "a device.\n"},
    {"gpus", "gpu_workers_per_device", CONFIG_COUNT, AT(gpu_workers_per_device), "2", 1, 64, NULL, false,
     "Partitions in work on one device at a time. What is read of a key that does not fit there\n"
     "serves up to four of them, where that pays.\n"},
    {"gpus", "device_memory", CONFIG_SIZE_AUTO, AT(device_memory), "\"auto\"", 64 * MIB, 1024 * TIB, NULL, false,
     "Most memory to use on each device. \"auto\": what is free there.\n"},
    {"gpus", "device_timeout", CONFIG_SECONDS, AT(device_timeout), "\"10m\"", 1, DAYS(1), NULL, true,
     "A device that does not answer for so long counts as hung; its work is done elsewhere.\n"},

    {"synthesis", "threads", CONFIG_COUNT, AT(threads), "0", 0, 1024, NULL, false,
     "Threads that compute. 0: as many as the process may use.\n"},
    {"synthesis", "partition_workers", CONFIG_COUNT, AT(partition_workers), "0", 0, 1024, NULL, false,
     "Partitions whose witnesses are made at a time. 0: half the threads, at least 2.\n"},
    {"synthesis", "queue_depth", CONFIG_COUNT, AT(queue_depth), "0", 0, 1024, NULL, true,
     "Finished witnesses that may wait for a device. 0: twice the workers of all devices.\n"},

    {"scheduler", "attempts", CONFIG_COUNT, AT(attempts), "3", 1, 100, NULL, true,
     "Tries of a partition before its job fails.\n"},
    {"scheduler", "starvation", CONFIG_SECONDS, AT(starvation), "\"30m\"", 1, DAYS(365), NULL, true,
     "A job that has waited so long goes before all below high priority, and has one turn in eight of those.\n"},

    {"srs", "param_cache", CONFIG_TEXT, AT(param_cache), "\"\"", 0, 0, NULL, false,
     "Folder of the official key files. Empty: $FIL_PROOFS_PARAMETER_CACHE, else\n"
     "/var/tmp/filecoin-proof-parameters.\n"},
    {"srs", "preload", CONFIG_CIRCUITS, AT(preload), "[]", 0, 0, NULL, false,
     "Circuits whose keys are loaded at the start, as `cuzk circuit list` names them: [\"porep-32gib\"].\n"},

    {"keys", "development", CONFIG_TRUTH, AT(development_keys), "false", 0, 0, NULL, false,
     "Whether keys that are not official are taken, and made where there is none. Their proofs are worth nothing.\n"},

    {"circuits", "enabled", CONFIG_CIRCUITS, AT(circuits), "[]", 0, 0, NULL, false,
     "Circuits that are proved, as `cuzk circuit list` names them. Empty: all.\n"},

    {"store", "path", CONFIG_TEXT, AT(store_path), "\"/var/lib/cuzk/jobs.db\"", 0, 0, NULL, false,
     "Database of jobs, inputs and results. Empty: in memory only, and lost with the process.\n"},
    {"store", "retention", CONFIG_SECONDS, AT(retention), "\"24h\"", 60, DAYS(3650), NULL, true,
     "How long finished jobs are kept.\n"},

    {"cache", "folder", CONFIG_TEXT, AT(cache_folder), "\"/var/cache/cuzk\"", 0, 0, NULL, false,
     "Shapes, converted keys and development keys. $CUZK_CACHE goes before the default, not before what stands "
     "here.\n"},

    {"logging", "level", CONFIG_CHOICE, AT(level), "\"info\"", 0, 0, "error warn info debug", true,
     "error, warn, info or debug. Lines go to standard error.\n"},
    {"logging", "format", CONFIG_CHOICE, AT(format), "\"text\"", 0, 0, "text json", true,
     "text, or json: one object a line.\n"},
};
const size_t config_row_count = sizeof config_rows / sizeof config_rows[0];

const config_old config_old_rows[] = {
    {"memory", "pinned_budget", NULL, "one budget holds keys and work: memory.total_budget"},
    {"memory", "working_memory_budget", NULL, "one budget holds keys and work: memory.total_budget"},
    {"gpus", "gpu_threads", NULL, "one pool serves all that computes on processors: synthesis.threads is its size"},
    {"scheduler", "max_batch_size", NULL, "jobs are not batched: partitions of all jobs share the devices anyway"},
    {"scheduler", "max_batch_wait_ms", NULL, "jobs are not batched: partitions of all jobs share the devices anyway"},
    {"scheduler", "sort_by_type", NULL, "the order is priority, deadline and age"},
    {"pipeline", "enabled", NULL, "every job goes through the pipeline"},
    {"pipeline", "synthesis_lookahead", NULL, "synthesis.queue_depth bounds what waits for a device"},
    {"pipeline", "synthesis_concurrency", NULL, "synthesis.partition_workers is the number of partitions at a time"},
    {"pipeline", "slot_size", NULL, "partitions are proved one by one, within memory.total_budget"},
    {"pipeline", "max_parallel_synthesis", "synthesis.partition_workers",
     "it is called synthesis.partition_workers now"},
    {"pipeline", "max_gpu_queue_depth", "synthesis.queue_depth", "it is called synthesis.queue_depth now"},
};
const size_t config_old_count = sizeof config_old_rows / sizeof config_old_rows[0];
