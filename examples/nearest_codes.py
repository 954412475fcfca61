"""Exact nearest neighbors among a million binary codes, without any model.

Run it with:  python examples/nearest_codes.py
"""

import time

import numpy as np

from dsnc.codes import HammingIndex, PackedCodes


def main(n_codes: int = 1_000_000, n_bits: int = 64) -> int:
    """Find codes again of which some bits were flipped; return how many were found."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, size=(n_codes, -(-n_bits // 64)), dtype=np.uint64)
    codes = PackedCodes(words, n_bits)
    index = HammingIndex(codes)

    asked = rng.choice(n_codes, 1000, replace=False)
    bits = codes.take(asked).to_bits()
    for row in bits:
        row[rng.choice(n_bits, 3, replace=False)] ^= True
    queries = PackedCodes.from_bits(bits)

    index.search(queries, k=1)  # the first call makes the index
    start = time.perf_counter()
    distances, rows = index.search(queries, k=5)
    microseconds = 1e6 * (time.perf_counter() - start) / len(queries)
    found = int((rows[:, 0] == asked).sum())
    print(
        f"{found} of {len(queries)} found at distance {distances[:, 0].max()} or less, five nearest"
    )
    print(f"of {n_codes:,} codes in {microseconds:.0f} us each, exactly")
    return found


if __name__ == "__main__":
    main()
