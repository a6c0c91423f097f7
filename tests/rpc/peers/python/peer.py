"""A client of the older proving daemon in Python (grpcio): all eight RPCs with the old contract.

usage: peer.py ADDRESS CONTRACT.proto DATA OUT.  DATA is a folder with request.json and vanilla-0.bin of a winning PoSt;
the proof is written to OUT. $PEER_TLS, when set, is "ADDRESS CERTIFICATE TOKEN" of the same daemon over TLS.
"""
import json
import os
import pathlib
import sys

import grpc

address, contract, data, out = sys.argv[1:5]
sys.path.insert(0, str(pathlib.Path(contract).parent))
pb, services = grpc.protos_and_services(pathlib.Path(contract).name)
request = json.loads((pathlib.Path(data) / "request.json").read_text())
vanilla = (pathlib.Path(data) / "vanilla-0.bin").read_bytes()
channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", 256 << 20)])
stub = services.ProvingEngineStub(channel)
TIMEOUT = 400  # for what takes seconds on an idle machine


def check(ok, what):
    if not ok:
        sys.exit(f"peer python: {what}")


def winning(request_id, proof=vanilla):
    return pb.SubmitProofRequest(
        request_id=request_id, proof_kind=pb.WINNING_POST, sector_size=2048, registered_proof=0, priority=pb.CRITICAL,
        vanilla_proofs=[proof], miner_id=request["miner_id"], randomness=bytes.fromhex(request["randomness"]))


def refused(call, message, code):
    try:
        call(message, timeout=TIMEOUT)
    except grpc.RpcError as e:
        check(e.code() == code, f"refused with {e.code()}: {e.details()}, not {code}")
        check(e.details(), f"{code} without a reason")
        return
    check(False, f"not refused with {code}")


status = stub.GetStatus(pb.GetStatusRequest(), timeout=TIMEOUT)
check(status.uptime_seconds < 1 << 32, "uptime")
check("cuzk_" in stub.GetMetrics(pb.GetMetricsRequest(), timeout=TIMEOUT).prometheus_text, "metrics")
stub.PreloadSRS(pb.PreloadSrsRequest(circuit_id="winning-post-2kib"), timeout=TIMEOUT)
again = stub.PreloadSRS(pb.PreloadSrsRequest(circuit_id="winning-post-2kib"), timeout=TIMEOUT)
check(again.already_loaded, "a second preload loads again")

ticket = stub.SubmitProof(winning("winpost-python"), timeout=TIMEOUT)
check(ticket.job_id == "winpost-python", f"job id {ticket.job_id}")
first = stub.AwaitProof(pb.AwaitProofRequest(job_id=ticket.job_id, timeout_ms=1), timeout=TIMEOUT)
check(first.status in (pb.AwaitProofResponse.TIMEOUT, pb.AwaitProofResponse.COMPLETED), f"state {first.status}")
done = stub.AwaitProof(pb.AwaitProofRequest(job_id=ticket.job_id), timeout=TIMEOUT)
check(done.status == pb.AwaitProofResponse.COMPLETED, f"{done.status}: {done.error_message}")
check(len(done.proof) == 192 and done.job_id == ticket.job_id, "the proof")
pathlib.Path(out).write_bytes(done.proof)

joined = stub.Prove(pb.ProveRequest(submit=winning("winpost-python")), timeout=TIMEOUT).result
check(joined.proof == done.proof, "the same id and content give another proof")
named = stub.Prove(pb.ProveRequest(submit=winning("")), timeout=TIMEOUT).result
check(named.job_id and named.status == pb.AwaitProofResponse.COMPLETED, f"without an id: {named.error_message}")

broken = stub.Prove(pb.ProveRequest(submit=winning("broken-python", vanilla[:1000])), timeout=TIMEOUT).result
check(broken.status == pb.AwaitProofResponse.FAILED and broken.error_message and not broken.proof,
      f"a broken vanilla proof: {broken.status}")
large = pb.SubmitProofRequest(request_id="large-python", proof_kind=pb.POREP_SEAL_COMMIT, sector_number=1, miner_id=1000,
                              vanilla_proof=b'{"SectorNum":1,"Phase1Out":"' + b"A" * 50_000_000)
answer = stub.Prove(pb.ProveRequest(submit=large), timeout=TIMEOUT).result
check(answer.status == pb.AwaitProofResponse.FAILED and answer.error_message.startswith("C1 parse failed"),
      f"50 MB that are no JSON: {answer.error_message}")

check(not stub.CancelProof(pb.CancelProofRequest(job_id="nobody"), timeout=TIMEOUT).was_running, "cancel of nothing")
refused(stub.AwaitProof, pb.AwaitProofRequest(job_id="nobody"), grpc.StatusCode.NOT_FOUND)
refused(stub.SubmitProof, pb.SubmitProofRequest(request_id="x"), grpc.StatusCode.INVALID_ARGUMENT)
refused(stub.Prove, pb.ProveRequest(), grpc.StatusCode.INVALID_ARGUMENT)
evicted = stub.EvictSRS(pb.EvictSrsRequest(circuit_id="winning-post-2kib"), timeout=TIMEOUT)
check(evicted.was_loaded and evicted.freed_bytes > 0, "evict")


def secure(token):
    tls_address, certificate, right = os.environ["PEER_TLS"].split()
    tls = grpc.ssl_channel_credentials(pathlib.Path(certificate).read_bytes())
    if token:
        tls = grpc.composite_channel_credentials(tls, grpc.access_token_call_credentials(token(right)))
    return services.ProvingEngineStub(grpc.secure_channel(tls_address, tls))


if "PEER_TLS" in os.environ:
    over_tls = secure(lambda right: right)
    check(over_tls.GetStatus(pb.GetStatusRequest(), timeout=TIMEOUT).total_proofs_completed > 0, "status over TLS")
    answer = over_tls.Prove(pb.ProveRequest(submit=large), timeout=TIMEOUT).result
    check(answer.status == pb.AwaitProofResponse.FAILED, "50 MB over TLS")
    for wrong in (None, lambda right: right + "x"):
        refused(secure(wrong).GetStatus, pb.GetStatusRequest(), grpc.StatusCode.UNAUTHENTICATED)
print("peer python: all eight RPCs are right")
