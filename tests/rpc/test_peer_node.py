"""A real gRPC client in Node (@grpc/grpc-js) with the older daemon's contract: peers/node."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
import run  # noqa: E402

run.main("node")
