/* Field sums and products in x86-64 assembly, for 4 and 6 limbs.
 *
 * Sums (ASM_) need nothing beyond x86-64; compilers write chains of carries badly. Products (ADX_) need MULX, ADCX and
 * ADOX.
 *
 * A product is the same interleaved one as in math/field_template.h. MULX leaves the flags alone, and ADCX and ADOX add
 * with two separate carry flags, so the low and the high halves of a row's products are added in two chains that run
 * side by side (Ozturk, Guilford, Gopal, "Large integer squaring on Intel architecture processors", Intel 2013).
 *
 * A row: t += a * b_i, with the word beyond t in `top`; then k = t0 * (-1/m), t = (t + k m) / 2^64. No sum carries out
 * of `top`, as m leaves its top bit free. Macros, not functions, so that -1/m is an immediate. Operands: a, b and m are
 * in registers as pointers; the arrays that are read are named as memory operands too, so that the compiler knows.
 */
#ifndef CUZK_MATH_FIELD_X86_H
#define CUZK_MATH_FIELD_X86_H

/* t = a * b_0: one chain is enough. */
#define ADX_ROW_0_HEAD                                                                                                 \
    "movq (%[b]), %%rdx\n\t"                                                                                           \
    "mulxq (%[a]), %[t0], %[t1]\n\t"                                                                                   \
    "mulxq 8(%[a]), %[lo], %[t2]\n\t"                                                                                  \
    "addq %[lo], %[t1]\n\t"                                                                                            \
    "mulxq 16(%[a]), %[lo], %[t3]\n\t"                                                                                 \
    "adcq %[lo], %[t2]\n\t"
#define ADX_ROW_0_NEXT(o, lo_to, hi_to)                                                                                \
    "mulxq " #o "(%[a]), %[lo], %[" #hi_to "]\n\t"                                                                     \
    "adcq %[lo], %[" #lo_to "]\n\t"
#define ADX_ROW_0_TAIL "adcq $0, %[top]\n\t"

/* t += a * b_i; the xor clears both carries. */
#define ADX_ROW_HEAD(o)                                                                                                \
    "movq " #o "(%[b]), %%rdx\n\t"                                                                                     \
    "xorl %k[lo], %k[lo]\n\t"                                                                                          \
    "mulxq (%[a]), %[lo], %[top]\n\t"                                                                                  \
    "adoxq %[lo], %[t0]\n\t"
#define ADX_ROW_NEXT(o, t)                                                                                             \
    "adcxq %[top], %[" #t "]\n\t"                                                                                      \
    "mulxq " #o "(%[a]), %[lo], %[top]\n\t"                                                                            \
    "adoxq %[lo], %[" #t "]\n\t"
#define ADX_ROW_TAIL                                                                                                   \
    "movl $0, %k[lo]\n\t"                                                                                              \
    "adcxq %[lo], %[top]\n\t"                                                                                          \
    "adoxq %[lo], %[top]\n\t"

/* t = (t + k m) / 2^64 with the word `top` above t. The lowest product cancels t0, so it is not added: it carries
 * exactly when t0 is not 0, which is when adding 2^64 - 1 to t0 carries. */
#define ADX_REDUCE_HEAD                                                                                                \
    "movabsq %[inv], %%rdx\n\t"                                                                                        \
    "imulq %[t0], %%rdx\n\t"                                                                                           \
    "xorl %k[lo], %k[lo]\n\t"                                                                                          \
    "notq %[lo]\n\t"                                                                                                   \
    "adcxq %[lo], %[t0]\n\t"                                                                                           \
    "mulxq (%[m]), %[lo], %[t0]\n\t"
#define ADX_REDUCE_NEXT(o, t, below)                                                                                   \
    "adcxq %[" #t "], %[" #below "]\n\t"                                                                               \
    "mulxq " #o "(%[m]), %[lo], %[" #t "]\n\t"                                                                         \
    "adoxq %[lo], %[" #below "]\n\t"
#define ADX_REDUCE_TAIL(t)                                                                                             \
    "movl $0, %k[lo]\n\t"                                                                                              \
    "adcxq %[lo], %[" #t "]\n\t"                                                                                       \
    "adoxq %[top], %[" #t "]\n\t"

#define ADX_ROW_4(o) ADX_ROW_HEAD(o) ADX_ROW_NEXT(8, t1) ADX_ROW_NEXT(16, t2) ADX_ROW_NEXT(24, t3) ADX_ROW_TAIL
#define ADX_REDUCE_4                                                                                                   \
    ADX_REDUCE_HEAD ADX_REDUCE_NEXT(8, t1, t0) ADX_REDUCE_NEXT(16, t2, t1) ADX_REDUCE_NEXT(24, t3, t2)                 \
        ADX_REDUCE_TAIL(t3)

#define ADX_ROW_6(o)                                                                                                   \
    ADX_ROW_HEAD(o)                                                                                                    \
    ADX_ROW_NEXT(8, t1)                                                                                                \
    ADX_ROW_NEXT(16, t2) ADX_ROW_NEXT(24, t3) ADX_ROW_NEXT(32, t4) ADX_ROW_NEXT(40, t5) ADX_ROW_TAIL
#define ADX_REDUCE_6                                                                                                   \
    ADX_REDUCE_HEAD ADX_REDUCE_NEXT(8, t1, t0) ADX_REDUCE_NEXT(16, t2, t1) ADX_REDUCE_NEXT(24, t3, t2)                 \
        ADX_REDUCE_NEXT(32, t4, t3) ADX_REDUCE_NEXT(40, t5, t4) ADX_REDUCE_TAIL(t5)

#define ADX_MUL_4(t, a_, b_, m_, inv_)                                                                                 \
    do {                                                                                                               \
        uint64_t lo_, top_, k_;                                                                                        \
        __asm__(ADX_ROW_0_HEAD ADX_ROW_0_NEXT(24, t3, top) ADX_ROW_0_TAIL ADX_REDUCE_4 ADX_ROW_4(8)                    \
                    ADX_REDUCE_4 ADX_ROW_4(16) ADX_REDUCE_4 ADX_ROW_4(24) ADX_REDUCE_4                                 \
                : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [lo] "=&r"(lo_),             \
                  [top] "=&r"(top_), "=&d"(k_)                                                                         \
                : [a] "r"(a_), [b] "r"(b_), [m] "r"(m_), [inv] "i"(inv_), "m"(*(const uint64_t(*)[4])(a_)),            \
                  "m"(*(const uint64_t(*)[4])(b_))                                                                     \
                : "cc");                                                                                               \
    } while (0)

#define ADX_MUL_6(t, a_, b_, m_, inv_)                                                                                 \
    do {                                                                                                               \
        uint64_t lo_, top_, k_;                                                                                        \
        __asm__(ADX_ROW_0_HEAD ADX_ROW_0_NEXT(24, t3, t4) ADX_ROW_0_NEXT(32, t4, t5) ADX_ROW_0_NEXT(40, t5, top)       \
                    ADX_ROW_0_TAIL ADX_REDUCE_6 ADX_ROW_6(8) ADX_REDUCE_6 ADX_ROW_6(16) ADX_REDUCE_6 ADX_ROW_6(24)     \
                        ADX_REDUCE_6 ADX_ROW_6(32) ADX_REDUCE_6 ADX_ROW_6(40) ADX_REDUCE_6                             \
                : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [t4] "=&r"(t[4]),            \
                  [t5] "=&r"(t[5]), [lo] "=&r"(lo_), [top] "=&r"(top_), "=&d"(k_)                                      \
                : [a] "r"(a_), [b] "r"(b_), [m] "r"(m_), [inv] "i"(inv_), "m"(*(const uint64_t(*)[6])(a_)),            \
                  "m"(*(const uint64_t(*)[6])(b_))                                                                     \
                : "cc");                                                                                               \
    } while (0)

/* t = t + b. */
#define ASM_ADD_4(t, b_)                                                                                               \
    __asm__("addq (%[b]), %[t0]\n\tadcq 8(%[b]), %[t1]\n\tadcq 16(%[b]), %[t2]\n\tadcq 24(%[b]), %[t3]"                \
            : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3])                                   \
            : [b] "r"(b_), "m"(*(const uint64_t(*)[4])(b_))                                                            \
            : "cc")
#define ASM_ADD_6(t, b_)                                                                                               \
    __asm__(                                                                                                           \
        "addq (%[b]), %[t0]\n\tadcq 8(%[b]), %[t1]\n\tadcq 16(%[b]), %[t2]\n\tadcq 24(%[b]), %[t3]\n\t"                \
        "adcq 32(%[b]), %[t4]\n\tadcq 40(%[b]), %[t5]"                                                                 \
        : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [t4] "+&r"(t[4]), [t5] "+&r"(t[5])   \
        : [b] "r"(b_), "m"(*(const uint64_t(*)[6])(b_))                                                                \
        : "cc")

/* t = t - b; mask = all ones when that borrows. */
#define ASM_SUB_4(t, b_, mask)                                                                                         \
    __asm__("subq (%[b]), %[t0]\n\tsbbq 8(%[b]), %[t1]\n\tsbbq 16(%[b]), %[t2]\n\tsbbq 24(%[b]), %[t3]\n\t"            \
            "sbbq %[w], %[w]"                                                                                          \
            : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [w] "=&r"(mask)                  \
            : [b] "r"(b_), "m"(*(const uint64_t(*)[4])(b_))                                                            \
            : "cc")
#define ASM_SUB_6(t, b_, mask)                                                                                         \
    __asm__("subq (%[b]), %[t0]\n\tsbbq 8(%[b]), %[t1]\n\tsbbq 16(%[b]), %[t2]\n\tsbbq 24(%[b]), %[t3]\n\t"            \
            "sbbq 32(%[b]), %[t4]\n\tsbbq 40(%[b]), %[t5]\n\tsbbq %[w], %[w]"                                          \
            : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [t4] "+&r"(t[4]),                \
              [t5] "+&r"(t[5]), [w] "=&r"(mask)                                                                        \
            : [b] "r"(b_), "m"(*(const uint64_t(*)[6])(b_))                                                            \
            : "cc")

/* s = t + m where mask, else t: both are computed side by side, since the borrow that decides is known last. */
#define ASM_ADD_BACK_4(s, t, m_, mask)                                                                                 \
    do {                                                                                                               \
        s[0] = t[0], s[1] = t[1], s[2] = t[2], s[3] = t[3];                                                            \
        __asm__("addq (%[m]), %[s0]\n\tadcq 8(%[m]), %[s1]\n\tadcq 16(%[m]), %[s2]\n\tadcq 24(%[m]), %[s3]\n\t"        \
                "testq %[w], %[w]\n\t"                                                                                 \
                "cmovzq %[t0], %[s0]\n\tcmovzq %[t1], %[s1]\n\tcmovzq %[t2], %[s2]\n\tcmovzq %[t3], %[s3]"             \
                : [s0] "+&r"(s[0]), [s1] "+&r"(s[1]), [s2] "+&r"(s[2]), [s3] "+&r"(s[3])                               \
                : [t0] "r"(t[0]), [t1] "r"(t[1]), [t2] "r"(t[2]), [t3] "r"(t[3]), [m] "r"(m_), [w] "r"(mask)           \
                : "cc");                                                                                               \
    } while (0)
#define ASM_ADD_BACK_6(s, t, m_, mask)                                                                                 \
    do {                                                                                                               \
        s[0] = t[0], s[1] = t[1], s[2] = t[2], s[3] = t[3], s[4] = t[4], s[5] = t[5];                                  \
        __asm__("addq (%[m]), %[s0]\n\tadcq 8(%[m]), %[s1]\n\tadcq 16(%[m]), %[s2]\n\tadcq 24(%[m]), %[s3]\n\t"        \
                "adcq 32(%[m]), %[s4]\n\tadcq 40(%[m]), %[s5]\n\t"                                                     \
                "testq %[w], %[w]\n\t"                                                                                 \
                "cmovzq %[t0], %[s0]\n\tcmovzq %[t1], %[s1]\n\tcmovzq %[t2], %[s2]\n\tcmovzq %[t3], %[s3]\n\t"         \
                "cmovzq %[t4], %[s4]\n\tcmovzq %[t5], %[s5]"                                                           \
                : [s0] "+&r"(s[0]), [s1] "+&r"(s[1]), [s2] "+&r"(s[2]), [s3] "+&r"(s[3]), [s4] "+&r"(s[4]),            \
                  [s5] "+&r"(s[5])                                                                                     \
                : [t0] "r"(t[0]), [t1] "r"(t[1]), [t2] "r"(t[2]), [t3] "r"(t[3]), [t4] "r"(t[4]), [t5] "r"(t[5]),      \
                  [m] "r"(m_), [w] "r"(mask)                                                                           \
                : "cc");                                                                                               \
    } while (0)

/* s = t - m when t >= m, else t. */
#define ASM_REDUCE_ONCE_4(s, t, m_)                                                                                    \
    do {                                                                                                               \
        s[0] = t[0], s[1] = t[1], s[2] = t[2], s[3] = t[3];                                                            \
        __asm__("subq (%[m]), %[s0]\n\tsbbq 8(%[m]), %[s1]\n\tsbbq 16(%[m]), %[s2]\n\tsbbq 24(%[m]), %[s3]\n\t"        \
                "cmovcq %[t0], %[s0]\n\tcmovcq %[t1], %[s1]\n\tcmovcq %[t2], %[s2]\n\tcmovcq %[t3], %[s3]"             \
                : [s0] "+&r"(s[0]), [s1] "+&r"(s[1]), [s2] "+&r"(s[2]), [s3] "+&r"(s[3])                               \
                : [t0] "r"(t[0]), [t1] "r"(t[1]), [t2] "r"(t[2]), [t3] "r"(t[3]), [m] "r"(m_)                          \
                : "cc");                                                                                               \
    } while (0)
#define ASM_REDUCE_ONCE_6(s, t, m_)                                                                                    \
    do {                                                                                                               \
        s[0] = t[0], s[1] = t[1], s[2] = t[2], s[3] = t[3], s[4] = t[4], s[5] = t[5];                                  \
        __asm__("subq (%[m]), %[s0]\n\tsbbq 8(%[m]), %[s1]\n\tsbbq 16(%[m]), %[s2]\n\tsbbq 24(%[m]), %[s3]\n\t"        \
                "sbbq 32(%[m]), %[s4]\n\tsbbq 40(%[m]), %[s5]\n\t"                                                     \
                "cmovcq %[t0], %[s0]\n\tcmovcq %[t1], %[s1]\n\tcmovcq %[t2], %[s2]\n\tcmovcq %[t3], %[s3]\n\t"         \
                "cmovcq %[t4], %[s4]\n\tcmovcq %[t5], %[s5]"                                                           \
                : [s0] "+&r"(s[0]), [s1] "+&r"(s[1]), [s2] "+&r"(s[2]), [s3] "+&r"(s[3]), [s4] "+&r"(s[4]),            \
                  [s5] "+&r"(s[5])                                                                                     \
                : [t0] "r"(t[0]), [t1] "r"(t[1]), [t2] "r"(t[2]), [t3] "r"(t[3]), [t4] "r"(t[4]), [t5] "r"(t[5]),      \
                  [m] "r"(m_)                                                                                          \
                : "cc");                                                                                               \
    } while (0)

#endif
