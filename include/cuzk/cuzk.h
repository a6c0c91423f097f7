/* Everything of the public C API in one include.
 *
 * The pieces: a cuzk_context (threads and limits), a cuzk_circuit or a cuzk_job (a circuit with one prover input), a
 * cuzk_key (a proving key) or a cuzk_vk (a verifying key), and functions on them. Each handle has its own header and
 * a page in docs/api/. docs/examples/prove.c is a whole program. A cuzk_engine takes jobs from many callers and proves
 * them within one byte budget.
 *
 * Rules for all of it: functions that can fail return a cuzk_status and fill the cuzk_error that is their last
 * argument (never NULL). Pointers given to a function are borrowed until it returns unless its comment says more.
 * Destroying or closing NULL does nothing. Field elements cross the API as 32 bytes, big-endian, below the group
 * order r; digests as bytes in their usual order; proofs as 192 bytes (A, B, C compressed, ZCash form).
 */
#ifndef CUZK_CUZK_H
#define CUZK_CUZK_H

#include "cuzk/circuit.h"
#include "cuzk/context.h"
#include "cuzk/control.h"
#include "cuzk/engine.h"
#include "cuzk/error.h"
#include "cuzk/job.h"
#include "cuzk/key.h"
#include "cuzk/memory.h"
#include "cuzk/plan.h"
#include "cuzk/proof.h"
#include "cuzk/selftest.h"
#include "cuzk/setup.h"
#include "cuzk/status.h"
#include "cuzk/synth.h"
#include "cuzk/witness.h"

#endif
