// A client of the older proving daemon in Node (@grpc/grpc-js): all eight RPCs with the old contract.
//
// usage: peer.js ADDRESS CONTRACT.proto DATA OUT.  As python/peer.py.
'use strict';
const fs = require('fs');
const path = require('path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [address, contract, data, out] = process.argv.slice(2);
const definition = loader.loadSync(contract, { keepCase: true, longs: Number, enums: String, defaults: true });
const { ProvingEngine } = grpc.loadPackageDefinition(definition).cuzk.v1;
const client = new ProvingEngine(address, grpc.credentials.createInsecure(),
                                 { 'grpc.max_receive_message_length': 256 << 20 });
const request = JSON.parse(fs.readFileSync(path.join(data, 'request.json')));
const vanilla = fs.readFileSync(path.join(data, 'vanilla-0.bin'));

function check(ok, what) {
  if (ok) return;
  console.error(`peer node: ${what}`);
  process.exit(1);
}

function call(method, message) {
  const deadline = new Date(Date.now() + 400000);
  return new Promise((resolve, reject) =>
    client[method](message, { deadline }, (error, reply) => (error ? reject(error) : resolve(reply))));
}

async function refused(method, message, code) {
  try {
    await call(method, message);
  } catch (e) {
    check(e.code === code && e.details, `${method} refused with ${e.code}: ${e.details}, not ${code}`);
    return;
  }
  check(false, `${method} not refused with ${code}`);
}

function winning(requestId, proof) {
  return { request_id: requestId, proof_kind: 'WINNING_POST', sector_size: 2048, registered_proof: 0,
           priority: 'CRITICAL', vanilla_proofs: [proof || vanilla], miner_id: request.miner_id,
           randomness: Buffer.from(request.randomness, 'hex') };
}

async function main() {
  check((await call('GetStatus', {})).uptime_seconds < 2 ** 32, 'uptime');
  check((await call('GetMetrics', {})).prometheus_text.includes('cuzk_'), 'metrics');
  await call('PreloadSRS', { circuit_id: 'winning-post-2kib' });
  check((await call('PreloadSRS', { circuit_id: 'winning-post-2kib' })).already_loaded, 'a second preload loads again');

  const ticket = await call('SubmitProof', winning('winpost-node'));
  check(ticket.job_id === 'winpost-node', `job id ${ticket.job_id}`);
  const first = await call('AwaitProof', { job_id: ticket.job_id, timeout_ms: 1 });
  check(['TIMEOUT', 'COMPLETED'].includes(first.status), `state ${first.status}`);
  const done = await call('AwaitProof', { job_id: ticket.job_id });
  check(done.status === 'COMPLETED' && done.proof.length === 192, `${done.status}: ${done.error_message}`);
  fs.writeFileSync(out, done.proof);

  const joined = (await call('Prove', { submit: winning('winpost-node') })).result;
  check(joined.proof.equals(done.proof), 'the same id and content give another proof');
  const named = (await call('Prove', { submit: winning('') })).result;
  check(named.job_id && named.status === 'COMPLETED', `without an id: ${named.error_message}`);

  const broken = (await call('Prove', { submit: winning('broken-node', vanilla.subarray(0, 1000)) })).result;
  check(broken.status === 'FAILED' && broken.error_message && !broken.proof.length, `a broken one: ${broken.status}`);
  const c1 = Buffer.concat([Buffer.from('{"SectorNum":1,"Phase1Out":"'), Buffer.alloc(50000000, 'A')]);
  const large = (await call('Prove', { submit: { request_id: 'large-node', proof_kind: 'POREP_SEAL_COMMIT',
                                                 vanilla_proof: c1, sector_number: 1, miner_id: 1000 } })).result;
  check(large.status === 'FAILED' && large.error_message.startsWith('C1 parse failed'), large.error_message);

  check(!(await call('CancelProof', { job_id: 'nobody' })).was_running, 'cancel of nothing');
  await refused('AwaitProof', { job_id: 'nobody' }, grpc.status.NOT_FOUND);
  await refused('SubmitProof', { request_id: 'x' }, grpc.status.INVALID_ARGUMENT);
  await refused('Prove', {}, grpc.status.INVALID_ARGUMENT);
  const evicted = await call('EvictSRS', { circuit_id: 'winning-post-2kib' });
  check(evicted.was_loaded && evicted.freed_bytes > 0, 'evict');
  console.log('peer node: all eight RPCs are right');
  client.close();
}

main().catch((e) => check(false, e.stack));
