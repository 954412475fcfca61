"""Tiny data files for the tests of the command line."""

import random

import numpy as np

QUICK = ["--bits", "16", "--epochs", "3", "--device", "cpu"]
ROLES = {
    "nurse": ["night", "ward", "triage"],
    "driver": ["bus", "truck", "forklift"],
    "cook": ["pastry", "sushi", "grill"],
    "pilot": ["airline", "drone", "cargo"],
}


def write_vectors(path, n, seed, first=1):
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(7).normal(size=(12, 8)) * 2
    y = np.arange(n) % 12
    rows = centers[y] + rng.normal(size=(n, 8)) * 0.5
    lines = [
        f"{c + 1} " + " ".join(f"{j + first}:{v:.3f}" for j, v in enumerate(row))
        for c, row in zip(y, rows, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return rows


def write_titles(path, n, seed):
    draw = random.Random(seed)
    lines = ["label\ttext"]
    for number in range(n):
        role = list(ROLES)[number % 4]
        special = ROLES[role][number // 4 % 3]
        text = draw.choice([f"{special} {role}", f"senior {special} {role}", f"{role}, {special}"])
        lines.append(f"{special} {role}\t{text}")
    path.write_text("\n".join(lines) + "\n")
