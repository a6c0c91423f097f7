/* The table of commands: what they are called with, and what their help says. */
#include "cli/cli.h"

#define JOB_USAGE "(--c1 FILE | --request FILE --vanilla FILE...)"
#define JOB_HELP                                                                                                       \
    "The job's input: for `porep` the output of commit phase 1 (--c1): the bare JSON (which also needs --request), "   \
    "the\n"                                                                                                            \
    "envelope with registered_proof and vanilla_proofs, or the wrapper with Phase1Out; for other kinds a request and " \
    "its\n"                                                                                                            \
    "vanilla proofs in the request's order. A request is JSON with what a verifier knows (docs/cli.md).\n"

#define KEY_HELP                                                                                                       \
    "Without --params the key is looked for under its official file name in $FIL_PROOFS_PARAMETER_CACHE (default\n"    \
    "/var/tmp/filecoin-proof-parameters). A development key (--dev-key) is made once and kept in our cache folder; "   \
    "its\n"                                                                                                            \
    "proofs are worth nothing outside a trial. A key is converted when it is first used (minutes for a big one;\n"     \
    "a CUDA device reads it as it is).\n"

#define JOB_FILES (BIT(C1) | BIT(REQUEST) | BIT(VANILLA))
#define REMOTE_JOB (BIT(ID) | BIT(PRIORITY) | BIT(DEADLINE) | BIT(POLICY))
#ifdef CUZK_HAVE_DAEMON
#define PROVE_REMOTE (CLIENT | REMOTE_JOB)
#define PROVE_REMOTE_HELP                                                                                              \
    "With --addr the daemon there proves, with its own keys and memory; Ctrl-C ends the job if nobody else waits for " \
    "it.\n"
#else
#define PROVE_REMOTE 0
#define PROVE_REMOTE_HELP ""
#endif

const command commands[] = {
    {.words = "circuit list",
     .operands = "",
     .summary = "name every circuit there is",
     .more = "",
     .example = "cuzk circuit list",
     .options = COMMON,
     .run = cmd_circuit_list},
    {.words = "circuit info",
     .operands = "KIND --size SIZE [--variant V]",
     .summary = "counts, memory and key file name of a circuit",
     .more = "The structure is recorded when a circuit is first used, and kept in the cache folder.\n",
     .example = "cuzk circuit info porep --size 2KiB",
     .options = WORKING | BIT(SIZE) | BIT(VARIANT),
     .required = BIT(SIZE),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_circuit_info},
    {.words = "circuit hash",
     .operands = "KIND --size SIZE [--variant V] [--checkpoints FILE]",
     .summary = "digest of a circuit's structure",
     .more = "BLAKE2s-256 over every constraint in order, equal to the reference implementation's. --checkpoints "
             "writes one\n"
             "digest for each 65,536 constraints, to find where two versions of a circuit differ.\n",
     .example = "cuzk circuit hash porep --size 2KiB --checkpoints porep-2kib.tsv",
     .options = WORKING | BIT(SIZE) | BIT(VARIANT) | BIT(CHECKPOINTS),
     .required = BIT(SIZE),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_circuit_hash},
    {.words = "setup",
     .operands = "KIND --size SIZE [--variant V] --out DIR",
     .summary = "make a development key",
     .more = "For development only: whoever makes a key this way can forge proofs for it. The files get their official "
             "names in\n"
             "DIR, which may not be the official parameter folder; existing keys are never written over.\n",
     .example = "cuzk setup porep --size 2KiB --out dev-keys",
     .options = WORKING | BIT(SIZE) | BIT(VARIANT) | BIT(OUT) | BIT(INSECURE_TRAPDOOR) | BIT(DEVICE),
     .required = BIT(SIZE) | BIT(OUT),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_setup},
    {.words = "witness",
     .operands = "KIND " JOB_USAGE,
     .summary = "make and check the witness of a job",
     .more = JOB_HELP
     "The vanilla proof is checked first, then every constraint. --checkpoints PREFIX writes PREFIX-k.tsv for each\n"
     "partition k.\n",
     .example = "cuzk witness porep --c1 c1.json",
     .options = WORKING | JOB_INPUT | BIT(CHECKPOINTS) | BIT(PARTITION),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_witness},
    {.words = "prove",
     .operands = "KIND " JOB_USAGE " --out FILE [--params FILE | --dev-key]",
     .summary = "prove a job",
     .more = JOB_HELP KEY_HELP
     "FILE gets the proofs of all partitions in order, 192 bytes each, after every one was "
     "verified; it is not made when\n"
     "one fails. The memory needed is told and compared with --memory before any work. For non-interactive PoRep "
     "these\nare the partitions' proofs; the chain wants them aggregated, which is not there yet.\n" PROVE_REMOTE_HELP,
     .example = "cuzk prove porep --c1 c1.json --out proof.bin --dev-key",
     .options = WORKING | JOB_INPUT | BIT(DEVICE) | BIT(DEVICE_MEMORY) | BIT(PARAMS) | BIT(DEV_KEY) | BIT(KEY_CHECK) |
                PROVE_REMOTE | BIT(PARTITION) | BIT(OUT) | BIT(INSECURE_RS),
     .required = BIT(OUT),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_prove},
    {.words = "verify groth16",
     .operands = "--vk FILE --inputs FILE [--inputs FILE...] PROOF",
     .summary = "verify proofs against given public inputs",
     .more = "PROOF holds one proof of 192 bytes for each inputs file, in the same order. An inputs file has one "
             "element a line,\n"
             "64 hexadecimal digits, big-endian, without the constant one.\n",
     .example = "cuzk verify groth16 --vk key.vk --inputs inputs-0.txt proof.bin",
     .options = COMMON | BIT(THREADS) | BIT(VK) | BIT(INPUTS),
     .required = BIT(VK) | BIT(INPUTS),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_verify_groth16},
    {.words = "verify",
     .operands = "KIND (--c1 FILE | --request FILE) --vk FILE PROOF",
     .summary = "verify the proofs of a job",
     .more = JOB_HELP
     "Public inputs are derived from the request, or from what the --c1 file says. Exit status 1: a proof is false.\n",
     .example = "cuzk verify porep --c1 c1.json --vk key.vk proof.bin",
     .options = COMMON | BIT(THREADS) | BIT(SIZE) | BIT(VARIANT) | BIT(C1) | BIT(REQUEST) | BIT(VK) | BIT(PARTITION),
     .required = BIT(VK),
     .min_operands = 2,
     .max_operands = 2,
     .run = cmd_verify},
    {.words = "plan",
     .operands = "KIND --size SIZE [--variant V] [--memory BYTES]",
     .summary = "memory and time a proof will need",
     .more = "Bytes are exact for one partition at a time, without the job's own input; times are estimates.\n",
     .example = "cuzk plan porep --size 32GiB --memory 64GiB",
     .options = WORKING | BIT(SIZE) | BIT(VARIANT) | BIT(DEVICE) | BIT(DEVICE_MEMORY),
     .required = BIT(SIZE),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_plan},
    {.words = "key inspect",
     .operands = "FILE",
     .summary = "what a key file holds",
     .more = "FILE is a .params or a .vk file.\n",
     .example = "cuzk key inspect dev-keys/v28-....params",
     .options = COMMON,
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_key_inspect},
    {.words = "key verify",
     .operands = "FILE [--full]",
     .summary = "is a key file sound?",
     .more = "Exit status 1: it is not; section, index and byte are named.\n",
     .example = "cuzk key verify --full dev-keys/v28-....params",
     .options = WORKING | BIT(FULL),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_key_verify},
    {.words = "vanilla inspect",
     .operands = "KIND " JOB_USAGE,
     .summary = "what a prover input holds",
     .more = JOB_HELP,
     .example = "cuzk vanilla inspect porep --c1 c1.json",
     .options = COMMON | JOB_INPUT,
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_vanilla_inspect},
    {.words = "vanilla verify",
     .operands = "KIND " JOB_USAGE,
     .summary = "do a prover input's paths, labels and encodings agree?",
     .more = JOB_HELP "Exit status 1: they do not; partition, challenge and part are named.\n",
     .example = "cuzk vanilla verify porep --c1 c1.json",
     .options = WORKING | JOB_INPUT,
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_vanilla_verify},
    {.words = "synth-sector",
     .operands = "KIND --size SIZE [--variant V] --seed N --out DIR",
     .summary = "make a prover input without a sealed sector",
     .more =
         "DIR (new or empty) gets request.json, and c1.json (porep) or vanilla-K.bin files. The input is consistent, "
         "so that it\n"
         "can be proved at any size; the same seed gives the same bytes. A size without a registered proof names "
         "another: then\n"
         "give --size when reading.\n",
     .example = "cuzk synth-sector porep --size 8MiB --seed 1 --out made-up",
     .options = WORKING | BIT(SIZE) | BIT(VARIANT) | BIT(SEED) | BIT(OUT),
     .required = BIT(SIZE) | BIT(SEED) | BIT(OUT),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_synth_sector},
#ifdef CUZK_HAVE_DAEMON
    {.words = "submit",
     .operands = "KIND " JOB_USAGE,
     .summary = "give a job to the daemon",
     .more = JOB_HELP
     "The answer has the job's id, for `cuzk await` and `cuzk cancel`. The same id with the same input joins the job "
     "that is\n"
     "there; with other input it starts a job that supersedes the older one.\n",
     .example = "cuzk submit porep --c1 c1.json --id sector-7 --priority high",
     .options = CLIENT | REMOTE_JOB | JOB_FILES | BIT(SIZE),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_submit},
    {.words = "await",
     .operands = "ID [--timeout SECONDS] [--out FILE]",
     .summary = "wait for a job of the daemon and take its proof",
     .more = "FILE gets the proofs of all partitions in order; without --out the answer has them in hex. A job that "
             "failed gives\n"
             "its error and exit status; one that has not ended in time exit status 6, and goes on.\n",
     .example = "cuzk await sector-7 --out proof.bin",
     .options = CLIENT | BIT(TIMEOUT) | BIT(OUT),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_await},
    {.words = "cancel",
     .operands = "ID",
     .summary = "end a job of the daemon",
     .more = "",
     .example = "cuzk cancel sector-7",
     .options = CLIENT,
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_cancel},
    {.words = "status",
     .operands = "",
     .summary = "the daemon's state: memory, queue, devices, keys, jobs",
     .more = "",
     .example = "cuzk status --json",
     .options = CLIENT,
     .run = cmd_status},
    {.words = "jobs",
     .operands = "[--limit N]",
     .summary = "list the daemon's jobs, also finished ones that it remembers",
     .more = "",
     .example = "cuzk jobs --limit 20",
     .options = CLIENT | BIT(LIMIT),
     .run = cmd_jobs},
    {.words = "top",
     .operands = "",
     .summary = "watch the daemon: memory, devices, workers, jobs",
     .more = "On a terminal the picture is drawn anew every second until Ctrl-C; elsewhere once.\n",
     .example = "cuzk top --interval 2",
     .options = CLIENT | BIT(INTERVAL),
     .run = cmd_top},
    {.words = "trace",
     .operands = "[ID] --out FILE",
     .summary = "what the daemon did when: a trace for Perfetto",
     .more = "FILE is Chrome trace JSON of one job, or of the last events of all; https://ui.perfetto.dev shows it.\n",
     .example = "cuzk trace sector-7 --out trace.json",
     .options = CLIENT | BIT(OUT),
     .required = BIT(OUT),
     .max_operands = 1,
     .run = cmd_trace},
    {.words = "preload",
     .operands = "CIRCUIT",
     .summary = "load the key and shape of a circuit into the daemon",
     .more = "`cuzk circuit list` names the circuits.\n",
     .example = "cuzk preload porep-32gib",
     .options = CLIENT,
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_preload},
    {.words = "evict",
     .operands = "CIRCUIT",
     .summary = "give a circuit's key and shape back",
     .more = "Refused while a job uses them.\n",
     .example = "cuzk evict porep-32gib",
     .options = CLIENT,
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_evict},
    {.words = "metrics",
     .operands = "",
     .summary = "the daemon's metrics as Prometheus text",
     .more = "",
     .example = "cuzk metrics",
     .options = CLIENT,
     .run = cmd_metrics},
#endif
    {.words = "bench batch",
     .operands = "KIND (--c1 FILE | --request FILE --vanilla FILE... | --synthetic) -c N [-j J]",
     .summary = "throughput, latency and memory of many proofs",
     .more =
         "The same job is submitted N times, J at a time, to an engine in this process, or with --addr to a daemon; "
         "every proof\n"
         "is verified. Lists for --pw and --gw make a sweep: a run for each pair, the fastest one's figures first. "
         "The folder\n"
         "--out (default: cuzk-bench-DATE-TIME) gets samples.csv (memory), proofs.csv, sweep.csv, and a plot "
         "(SVG) of memory\n"
         "by class against the budget and of the partitions' waterfall for each run.\n",
     .example = "cuzk bench batch winning-post --synthetic --size 2KiB --dev-key -c 20 -j 4 --pw 1,2",
     .options = WORKING | JOB_INPUT | BIT(SYNTHETIC) | BIT(COUNT) | BIT(CONCURRENCY) | BIT(PW) | BIT(GW) | BIT(DEVICE) |
                BIT(DEVICE_MEMORY) | BIT(DEV_KEY) | BIT(OUT) | CLIENT,
     .required = BIT(COUNT),
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_bench_batch},
    {.words = "selftest",
     .operands = "",
     .summary = "known answers on this machine",
     .more = "Every version of the kernels that this CPU runs is tried, then each device that --device allows.\n"
             "Exit status 70: an answer was wrong.\n",
     .example = "cuzk selftest",
     .options = WORKING | BIT(DEVICE),
     .false_exit = 70,
     .run = cmd_selftest},
    {.words = "version",
     .operands = "",
     .summary = "version of the program and of the CPU's kernels",
     .more = "",
     .example = "cuzk version",
     .options = COMMON,
     .run = cmd_version},
#ifdef CUZK_HAVE_DAEMON
    {.words = "serve",
     .operands = "[--config FILE] [--listen ADDRESS...]",
     .summary = "run the proving daemon",
     .more =
         "Takes jobs by gRPC, proves them within one memory budget, and keeps them in a database until their results "
         "are\nold. SIGTERM lets running jobs end and stops (a second one stops at once); SIGHUP reads the settings "
         "again.\nWhat it does is told on standard error (docs/daemon.md).\n",
     .example = "cuzk serve --listen unix:///tmp/cuzk.sock",
     .options = BIT(HELP) | BIT(CONFIG) | BIT(LISTEN) | BIT(LOG_LEVEL) | BIT(LOG_FORMAT),
     .own_voice = true,
     .run = cmd_serve},
    {.words = "config",
     .operands = "(--print | --check FILE)",
     .summary = "print or check the daemon's settings",
     .more = "",
     .example = "cuzk config --print > cuzk.toml",
     .options = COMMON | BIT(PRINT) | BIT(CHECK),
     .run = cmd_config},
#endif
};
const size_t n_commands = sizeof commands / sizeof *commands;
