"""A real gRPC client in Go (grpc-go) with the older daemon's contract: peers/go."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
import run  # noqa: E402

run.main("go")
