#!/usr/bin/env python3
"""Writes src/math/field_constants.h: every number that the field, tower and curve code needs.

All of it follows from the BLS12-381 parameter x (negative, |x| = 0xd201000000010000), the tower's non-residues and the
standard generators; nothing is copied from a table except the generators' coordinates. Values marked "mont" are
multiplied by R = 2^(64 * limbs). Use: tools/gen_field_constants.py > src/math/field_constants.h
"""

X_ABS = 0xD201000000010000
X = -X_ABS
R_ORDER = X**4 - X**2 + 1
P = (X - 1) ** 2 * R_ORDER // 3 + X

# The standard generators of G1 and G2 (draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1).
G1 = (
    0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
    0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
)
G2 = (
    (
        0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
        0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
    ),
    (
        0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
        0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
    ),
)


def limbs(value, count, width=64):
    return [(value >> (width * i)) & ((1 << width) - 1) for i in range(count)]


def emit(name, value, count, comment="", width=64):
    words = [f"0x{w:016x}" for w in limbs(value, count, width)]
    lines = [", ".join(words[i : i + 4]) for i in range(0, count, 4)]
    body = ", \\\n      ".join(lines)
    if comment:
        print(f"/* {comment} */")
    print(f"#define {name} \\\n    {{ {body} }}")


def field(prefix, modulus, count, generator_note):
    """One field's constants. The non-residue is the smallest one."""
    r = 1 << (64 * count)
    emit(f"{prefix}_MODULUS", modulus, count)
    emit(f"{prefix}_ONE", r % modulus, count, "R mod m: one, mont")
    emit(f"{prefix}_R2", r * r % modulus, count)
    emit(f"{prefix}_R3", r * r * r % modulus, count)
    inverse = pow(modulus, -1, 1 << 64)
    print("/* -1/m mod 2^64 */")
    print(f"#define {prefix}_NEG_INV 0x{(1 << 64) - inverse:016x}")
    print("/* 1/m mod 2^62, and m in limbs of 62 bits, for the inversion */")
    print(f"#define {prefix}_INV62 0x{inverse & ((1 << 62) - 1):016x}")
    emit(f"{prefix}_MODULUS62", modulus, (64 * count + 63) // 62, width=62)
    s, t = 0, modulus - 1
    while t % 2 == 0:
        s, t = s + 1, t // 2
    z = next(z for z in range(2, 100) if pow(z, (modulus - 1) // 2, modulus) != 1)
    print(f"/* m - 1 = 2^s t, t odd. Smallest non-residue: {z}. {generator_note} */")
    print(f"#define {prefix}_TWO_ADICITY {s}")
    emit(f"{prefix}_ROOT", pow(z, t, modulus) * r % modulus, count, f"{z}^t, of order 2^s, mont")
    emit(f"{prefix}_SQRT_EXP", (t - 1) // 2, count, "(t - 1) / 2")
    emit(f"{prefix}_MINUS_2", modulus - 2, count, "m - 2")
    print()


# Fp2 = Fp[u]/(u^2 + 1) as pairs, enough for the Frobenius constants.
def mul2(a, b):
    return ((a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P)


def pow2(a, e):
    out = (1, 0)
    while e:
        if e & 1:
            out = mul2(out, a)
        a, e = mul2(a, a), e >> 1
    return out


def inv2(a):
    n = pow(a[0] * a[0] + a[1] * a[1], -1, P)
    return (a[0] * n % P, -a[1] * n % P)


def mont(a):
    return (a << 384) % P


def emit2(name, value, comment=""):
    if comment:
        print(f"/* {comment} */")
    words = []
    for c in value:
        w = [f"0x{v:016x}" for v in limbs(mont(c), 6)]
        words.append("{ { " + ", ".join(w[:3]) + ", \\\n          " + ", ".join(w[3:]) + " } }")
    print(f"#define {name} \\\n    {{ {words[0]}, \\\n      {words[1]} }}")


def on_curve2(pt, b):
    y2, x3 = mul2(pt[1], pt[1]), mul2(pt[0], mul2(pt[0], pt[0]))
    return y2 == ((x3[0] + b[0]) % P, (x3[1] + b[1]) % P)


def add_points(a, b):
    """Affine addition on y^2 = x^3 + 4 over Fp; None is infinity."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        lam = 3 * a[0] * a[0] * pow(2 * a[1], -1, P)
    else:
        lam = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (lam * lam - a[0] - b[0]) % P
    return (x, (lam * (a[0] - x) - a[1]) % P)


def mul_point(a, k):
    out = None
    while k:
        if k & 1:
            out = add_points(out, a)
        a, k = add_points(a, a), k >> 1
    return out


def curves():
    assert (G1[1] ** 2 - G1[0] ** 3 - 4) % P == 0 and on_curve2(G2, (4, 4))
    emit("G1_GENERATOR_X", mont(G1[0]), 6, "mont")
    emit("G1_GENERATOR_Y", mont(G1[1]), 6)
    emit2("G2_GENERATOR_X", G2[0], "mont")
    emit2("G2_GENERATOR_Y", G2[1])
    emit("FP_FOUR", mont(4), 6, "the curve constant of G1, mont; G2's is 4(1 + u)")
    # phi(x, y) = (beta x, y) acts on G1 as multiplication by -x^2 for one of the two primitive cube roots of unity.
    g = next(g for g in range(2, 100) if pow(g, (P - 1) // 3, P) != 1)
    beta = pow(g, (P - 1) // 3, P)
    want = mul_point(G1, -(X * X) % R_ORDER)
    if (beta * G1[0] % P, G1[1]) != want:
        beta = beta * beta % P
    assert (beta * G1[0] % P, G1[1]) == want
    emit("G1_BETA", mont(beta), 6, "cube root of unity with (beta x, y) = [-x^2](x, y) on G1, mont")
    print(f"#define BLS_X_ABS 0x{X_ABS:016x} /* the curve parameter x is -BLS_X_ABS */")
    xi = (1, 1)
    print("\n/* Frobenius: the k-th one multiplies the coefficient of w^i by FROBk_i = (1+u)^(i (p^k - 1) / 6), mont */")
    for k in (1, 2, 3):
        for i in range(1, 6):
            emit2(f"FROB{k}_{i}", pow2(xi, i * (P**k - 1) // 6))
    # psi = untwist, Frobenius, twist: (conj(x) / xi^((p-1)/3), conj(y) / xi^((p-1)/2)).
    emit2("PSI_X", inv2(pow2(xi, (P - 1) // 3)), "psi(x, y) = (conj(x) PSI_X, conj(y) PSI_Y), mont")
    emit2("PSI_Y", inv2(pow2(xi, (P - 1) // 2)))


def main():
    print("/* Made by tools/gen_field_constants.py; do not edit. Least significant limb first. */")
    print("/* clang-format off */")
    print("#ifndef CUZK_MATH_FIELD_CONSTANTS_H\n#define CUZK_MATH_FIELD_CONSTANTS_H\n")
    field("FR", R_ORDER, 4, "7 generates the whole group; 5 is a non-residue too.")
    field("FP", P, 6, "-1 is a non-residue as s = 1.")
    curves()
    print("\n#endif")


if __name__ == "__main__":
    main()
