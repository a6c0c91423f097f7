"""Runs one peer against a daemon of its own: run.main("go"). The peer's packages are fetched into the folder `peers` of
the present one (a build folder under ctest) at the versions that its manifest pins; exit status 77 when its tool is
not there or they cannot be fetched, and 1 then with CUZK_NO_SKIP in the environment.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data" / "winning-post-2kib-a"
CUZK = os.environ.get("CUZK", "build/release/cuzk")
KEPT = pathlib.Path.cwd() / "peers"
CACHE = pathlib.Path(os.environ.get("CUZK_TEST_CACHE", KEPT / "cache"))  # ctest names that of all scripts of a run


def skip(why):
    print(f"skipped: {why}")
    sys.exit(1 if os.environ.get("CUZK_NO_SKIP") else 77)


def fetch(command, **more):
    """A step that needs a package registry."""
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if r.returncode:
        skip(f"{' '.join(map(str, command[:3]))} … cannot be done here:\n{r.stdout[-2000:]}")


def tool(name):
    return shutil.which(name) or skip(f"{name} is not installed")


def same_manifest(folder, manifest):
    kept = folder / manifest.name
    return kept.exists() and kept.read_bytes() == manifest.read_bytes()


def python_command():
    manifest, folder = HERE / "python" / "requirements.txt", KEPT / "python"
    if not same_manifest(folder, manifest):
        shutil.rmtree(folder, ignore_errors=True)
        fetch([sys.executable, "-m", "venv", folder])
        fetch([folder / "bin" / "pip", "install", "-q", "--no-compile", "--only-binary", ":all:", "-r", manifest])
        shutil.copy(manifest, folder)
    return [folder / "bin" / "python", HERE / "python" / "peer.py"], {}


def node_command():
    manifest, folder = HERE / "node" / "package-lock.json", KEPT / "node"
    node, npm = tool("node"), tool("npm")
    if not (same_manifest(folder, manifest) and (folder / "node_modules" / "@grpc").exists()):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in (manifest, manifest.with_name("package.json")):
            shutil.copy(file, folder)
        fetch([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
    return [node, HERE / "node" / "peer.js"], {"NODE_PATH": str(folder / "node_modules")}


def go_command():
    go = tool("go")
    program = KEPT / "go" / "peer"
    program.parent.mkdir(parents=True, exist_ok=True)
    # As little to compile as can be, as a fresh machine compiles even the standard library for it: no C, no inlining, no
    # debugging information, no grpc pages for humans; and a compiler that lives for a second need not save memory.
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0", "GOGC": "400"}
    fetch([go, "mod", "download"], cwd=HERE / "go", env=env)
    build = [go, "build", "-tags=grpcnotrace", "-gcflags=all=-l -dwarf=false", "-ldflags=-s -w", "-o", program, "."]
    r = subprocess.run(build, cwd=HERE / "go", env=env, text=True, capture_output=True)
    if r.returncode:
        sys.exit(f"the Go peer does not build:\n{r.stderr}")
    return [program], {}


def contract(peer, folder):
    """What a peer reads as the contract: its text, or for Go, which has no compiler of it, the descriptor."""
    text = HERE / "old_contract.proto"
    if peer != "go":
        return text
    out = folder / "old_contract.bin"
    subprocess.run([tool("protoc-c"), f"-I{HERE}", f"--descriptor_set_out={out}", text], check=True)
    return out


def tls_lines(folder):
    """Settings of a TCP port with TLS and a token, and what the peer needs for it."""
    tool("openssl")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=cuzk", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    (folder / "token").write_text("open-sesame-open\n")
    (folder / "token").chmod(0o600)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    lines = f'''
tls_cert = "{folder}/cert.pem"
tls_key = "{folder}/key.pem"
token_file = "{folder}/token"'''
    return f', "127.0.0.1:{port}"]{lines}', {"PEER_TLS": f"127.0.0.1:{port} {folder}/cert.pem open-sesame-open"}


def start_daemon(folder, tls):
    config = folder / "cuzk.toml"
    config.write_text(f"""
[daemon]
listen = ["unix://{folder}/s"{tls or "]"}
[keys]
development = true
[store]
path = "{folder}/jobs.db"
[cache]
folder = "{CACHE}"
[logging]
level = "warn"
""")
    daemon = subprocess.Popen([CUZK, "serve", "--config", config])
    until = time.time() + 60
    while subprocess.run([CUZK, "status", "--addr", f"unix://{folder}/s", "--json"], capture_output=True).returncode:
        if daemon.poll() is not None or time.time() > until:
            sys.exit("the daemon does not start")
        time.sleep(0.1)
    return daemon


def verify(proof, kind="winning-post", request=DATA / "request.json"):
    """By the verifying key of a development key that the daemon made."""
    for vk in sorted((CACHE / "dev-keys").glob("*.vk")):
        r = subprocess.run([CUZK, "verify", kind, "--request", request, "--vk", vk, proof], capture_output=True, text=True)
        if r.returncode == 0:
            return
    sys.exit(f"the proof that came does not verify: {r.stderr}")


def main(peer):
    command, env = {"python": python_command, "node": node_command, "go": go_command}[peer]()
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cuzk-peer-") as name:
        folder = pathlib.Path(name)
        tls, more = tls_lines(folder)
        daemon = start_daemon(folder, tls)
        try:
            proof = folder / "proof.bin"
            r = subprocess.run([*command, f"unix://{folder}/s", contract(peer, folder), DATA, proof],
                               env={**os.environ, **env, **more}, timeout=1200)
            if r.returncode:
                sys.exit(f"the {peer} peer failed")
            verify(proof)
        finally:
            daemon.send_signal(signal.SIGTERM)
            if daemon.wait(60) != 0 and sys.exc_info()[0] is None:
                sys.exit(f"the daemon ended with {daemon.returncode}")
