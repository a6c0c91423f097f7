#!/usr/bin/env python3
"""Our proofs before outside verifiers: snarkjs, and the reference's when there is one.

The test program groth16_prove leaves fresh random proofs of small circuits with their verifying keys and public inputs
(CUZK_TEST_KEEP). Here they are turned into snarkjs's JSON and verified by it; each must be accepted, and refused once a
public input or a point is changed. CUZK_ORACLE names a program that is called as
`PROGRAM verify VK PROOFS INPUTS` and exits with 0 when bellperson accepts; it is asked too when set.

Skipped (77) without node, npm or a way to install snarkjs; CUZK_SNARKJS may name a folder whose node_modules has it.
"""
import json, os, shutil, subprocess, sys, tempfile
from pathlib import Path

SNARKJS = "0.7.5"
P = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
R = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001

VERIFY = """
const snarkjs = require("snarkjs");
const cases = JSON.parse(require("fs").readFileSync(process.argv[2]));
(async () => {
    const answers = [];
    for (const c of cases) answers.push(await snarkjs.groth16.verify(c.vk, c.inputs, c.proof));
    console.log(JSON.stringify(answers));
    process.exit(0);
})();
"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


# --- points: ZCash bytes to snarkjs's decimal strings ---------------------------------------------------------------
def mul2(a, b):
    return ((a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P)


def sqrt1(a):
    s = pow(a, (P + 1) // 4, P)
    assert s * s % P == a % P, "no root: not a point"
    return s


def sqrt2(a):
    """Square root in Fp2 = Fp[u]/(u^2 + 1): with n the root of the norm, x^2 = (a0 + n)/2 for one sign of n."""
    if a[1] == 0 and pow(a[0], (P - 1) // 2, P) in (0, 1):
        return (sqrt1(a[0]), 0)
    n = sqrt1(a[0] * a[0] + a[1] * a[1])
    half = pow(2, -1, P)
    for sign in (n, -n):
        t = (a[0] + sign) * half % P
        if pow(t, (P - 1) // 2, P) == 1:
            x = sqrt1(t)
            y = a[1] * pow(2 * x, -1, P) % P
            assert mul2((x, y), (x, y)) == (a[0] % P, a[1] % P)
            return (x, y)
        if t == 0:
            return (0, sqrt1(-a[0]))
    raise AssertionError("no root: not a point")


def larger(y):
    return y > (P - 1) // 2


def g1_compressed(b):
    x = int.from_bytes(b, "big") & ((1 << 381) - 1)
    y = sqrt1((x**3 + 4) % P)
    return (x, y if larger(y) == bool(b[0] & 0x20) else P - y)


def g2_compressed(b):
    x = (int.from_bytes(b[48:], "big"), int.from_bytes(b[:48], "big") & ((1 << 381) - 1))
    c = mul2(mul2(x, x), x)
    y = sqrt2(((c[0] + 4) % P, (c[1] + 4) % P))
    if larger(y[1] if y[1] else y[0]) != bool(b[0] & 0x20):
        y = ((-y[0]) % P, (-y[1]) % P)
    return (x, y)


def g1_json(p):
    return [str(p[0]), str(p[1]), "1"]


def g2_json(p):
    return [[str(p[0][0]), str(p[0][1])], [str(p[1][0]), str(p[1][1])], ["1", "0"]]


def g1_plain(b):
    return g1_json((int.from_bytes(b[:48], "big"), int.from_bytes(b[48:], "big")))


def g2_plain(b):
    v = [int.from_bytes(b[i:i + 48], "big") for i in range(0, 192, 48)]
    return g2_json(((v[1], v[0]), (v[3], v[2])))


def vk_json(b):
    n = int.from_bytes(b[864:868], "big")
    assert len(b) == 868 + 96 * n
    return {"protocol": "groth16", "curve": "bls12381", "nPublic": n - 1, "vk_alpha_1": g1_plain(b[:96]),
            "vk_beta_2": g2_plain(b[192:384]), "vk_gamma_2": g2_plain(b[384:576]), "vk_delta_2": g2_plain(b[672:864]),
            "IC": [g1_plain(b[868 + 96 * i:964 + 96 * i]) for i in range(n)]}


def proof_json(b):
    assert len(b) == 192
    return {"protocol": "groth16", "curve": "bls12381", "pi_a": g1_json(g1_compressed(b[:48])),
            "pi_b": g2_json(g2_compressed(b[48:144])), "pi_c": g1_json(g1_compressed(b[144:]))}


# --- the test -------------------------------------------------------------------------------------------------------
def snarkjs_folder(tmp):
    given = os.environ.get("CUZK_SNARKJS")
    if given:
        return Path(given)
    if not shutil.which("node") or not shutil.which("npm"):
        skip("node and npm are not installed")
    p = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(tmp), f"snarkjs@{SNARKJS}"],
                       capture_output=True, timeout=600)
    if p.returncode:
        skip("npm cannot install snarkjs: " + p.stderr.decode(errors="replace").strip()[-200:])
    return tmp


def main():
    program = Path(os.environ["CUZK"]).parent / "tests" / "groth16_prove"
    if not program.exists():
        skip(f"{program} is not built")
    with tempfile.TemporaryDirectory() as t:
        tmp = Path(t)
        kept = tmp / "proofs"
        kept.mkdir()
        modules = snarkjs_folder(tmp)
        subprocess.run([str(program)], env={**os.environ, "CUZK_TEST_KEEP": str(kept)}, check=True, capture_output=True)
        cases, want, names = [], [], []

        def add(name, vk, proof, inputs, answer):
            cases.append({"vk": vk, "proof": proof, "inputs": inputs})
            want.append(answer)
            names.append(name)

        files = sorted(kept.glob("*.proof"))
        assert len(files) > 20, f"only {len(files)} proofs were left in {kept}"
        for f in files:
            vk = vk_json(f.with_suffix(".vk").read_bytes())
            proof = proof_json(f.read_bytes())
            inputs = [str(int(x, 16)) for x in f.with_suffix(".inputs").read_text().split()]
            add(f.stem, vk, proof, inputs, True)
            if inputs:
                changed = inputs[:-1] + [str((int(inputs[-1]) + 1) % R)]
                add(f.stem + ", last input changed", vk, proof, changed, False)
            wrong = dict(proof, pi_a=[proof["pi_a"][0], str(P - int(proof["pi_a"][1])), "1"])
            add(f.stem + ", A negated", vk, wrong, inputs, False)
            if oracle := os.environ.get("CUZK_ORACLE"):
                rc = subprocess.run([oracle, "verify", f.with_suffix(".vk"), f, f.with_suffix(".inputs")],
                                    capture_output=True).returncode
                assert rc == 0, f"the reference refuses {f.stem}: exit {rc}"
        (tmp / "cases.json").write_text(json.dumps(cases))
        (tmp / "verify.cjs").write_text(VERIFY)
        p = subprocess.run(["node", str(tmp / "verify.cjs"), str(tmp / "cases.json")], capture_output=True, check=True,
                           env={**os.environ, "NODE_PATH": str(modules / "node_modules")})
        answers = json.loads(p.stdout)
        bad = [n for n, a, w in zip(names, answers, want) if a != w]
        assert len(answers) == len(want) and not bad, f"snarkjs disagrees on: {bad}"
        print(f"snarkjs {SNARKJS}: {sum(want)} proofs accepted, {len(want) - sum(want)} changed ones refused")


main()
