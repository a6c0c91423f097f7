"""A real gRPC client in Python (grpcio) with the older daemon's contract: peers/python."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
import run  # noqa: E402

run.main("python")
