#!/usr/bin/env python3
"""Makes the .npy files of this folder with NumPy: four ranks' gradients and the sum and the average that a ring gives.

    python3 tests/data/npy/make.py        (from anywhere; writes beside itself)

The ring's order, written here independently of Ringside: with n ranks the flat buffer is cut evenly (the first count mod n
chunks get one element more); chunk c starts on rank c+1 and is added to by c+2, …, c (mod n), rounding in the dtype at each
addition. avg multiplies every input by 1/n, rounded to the dtype, before the sum, as NCCL does.
"""
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
RANKS = 4
SHAPE = (3, 5, 7)


def ring(inputs):
    n, count = len(inputs), inputs[0].size
    flat = [x.reshape(-1) for x in inputs]
    out = np.empty(count, flat[0].dtype)
    q, r = divmod(count, n)
    begin = 0
    for c in range(n):
        end = begin + q + (c < r)
        acc = flat[(c + 1) % n][begin:end].copy()
        for hop in range(1, n):
            acc = acc + flat[(c + 1 + hop) % n][begin:end]
        out[begin:end] = acc
        begin = end
    return out.reshape(SHAPE)


def main():
    random = np.random.Generator(np.random.PCG64(20))
    for name, dtype in (("float32", np.float32), ("float16", np.float16)):
        ranks = [(random.standard_normal(SHAPE) * 10.0 ** random.integers(-3, 3, SHAPE)).astype(dtype) for _ in range(RANKS)]
        for r, x in enumerate(ranks):
            np.save(HERE / f"{name}_rank{r}.npy", x)
        np.save(HERE / f"{name}_sum.npy", ring(ranks))
        factor = dtype(1.0 / RANKS)
        np.save(HERE / f"{name}_avg.npy", ring([x * factor for x in ranks]))
        # Three ranks: 1/3 is not exact, 105 = 3 × 35 is.
        third = dtype(np.float32(1.0 / 3))
        np.save(HERE / f"{name}_avg3.npy", ring([x * third for x in ranks[:3]]))
        assert (ring(ranks) != (ranks[0] + ranks[1] + ranks[2] + ranks[3])).any(), "the order must show in the bits"


main()
