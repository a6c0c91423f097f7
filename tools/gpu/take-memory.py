#!/usr/bin/env python3
"""Takes and frees memory of an NVIDIA device at random, as a stranger would: for trying a prover beside it.

  tools/gpu/take-memory.py [--device N] [--leave BYTES] [--seconds S] [--seed N]

Every few hundredths of a second it takes or frees blocks, so that what is free lies anywhere between nothing and all;
now and then it holds everything that it can get for a while, but for --leave (default 64 MiB). Ends after --seconds
(default: when it is killed) and prints what it did.
"""
import argparse, ctypes, random, signal, sys, time


def driver():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as e:
        sys.exit("take-memory: no CUDA driver: %s" % e)

    def call(name, *args):
        status = getattr(cuda, name)(*args)
        if status not in (0, 2):  # 2: out of memory
            sys.exit("take-memory: %s returned %d" % (name, status))
        return status == 0

    return call


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--device", type=int, default=0)
    p.add_argument("--leave", type=int, default=64 << 20)
    p.add_argument("--seconds", type=float, default=float("inf"))
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    call, rng = driver(), random.Random(a.seed)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), a.device)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)

    def free_bytes():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    blocks, taken, freed, refused, least = [], 0, 0, 0, free_bytes()

    def take(n):
        at = ctypes.c_uint64()
        if not call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(n)):
            return False
        blocks.append(at)
        return True

    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    end = time.monotonic() + a.seconds
    while not stop and time.monotonic() < end:
        free = free_bytes()
        least = min(least, free)
        if rng.random() < 0.03:  # all of it, for a while
            size = 1 << 34
            while size >= 1 << 21 and not stop:
                free = free_bytes()
                if free > a.leave + size and take(size):
                    taken += 1
                else:
                    size //= 2
            least = min(least, free_bytes())
            time.sleep(rng.uniform(0.1, 0.6))
        elif blocks and rng.random() < 0.55:
            call("cuMemFree_v2", blocks.pop(rng.randrange(len(blocks))))
            freed += 1
        elif free > a.leave:
            if take(int(max(1 << 21, min(free - a.leave, rng.random() ** 4 * free)))):
                taken += 1
            else:
                refused += 1
        time.sleep(rng.uniform(0, 0.05))
    for b in blocks:
        call("cuMemFree_v2", b)
    print("take-memory: %d blocks taken, %d freed while others ran, %d refused; least free %.2f GiB"
          % (taken, freed, refused, least / 2**30))


main()
