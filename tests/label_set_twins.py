"""Naive twins of the metrics of label sets: loops over rows, each a Python set and a list."""

import math


def precision_at_k(sets, rankings, k):
    rows = zip(sets, rankings, strict=True)
    return sum(sum(label in truth for label in ranked[:k]) / k for truth, ranked in rows) / len(
        sets
    )


def recall_at_k(sets, rankings, k):
    total = 0.0
    for truth, ranked in zip(sets, rankings, strict=True):
        if truth:
            total += len(truth & set(ranked[:k])) / len(truth)
    return total / len(sets)


def ndcg_at_k(sets, rankings, k):
    total = 0.0
    for truth, ranked in zip(sets, rankings, strict=True):
        gain = best = 0.0
        for place in range(k):
            worth = 1 / math.log2(place + 2)
            gain += worth * (ranked[place] in truth)
            best += worth * (place < len(truth))
        total += gain / best if truth else 0.0
    return total / len(sets)


def propensities(sets, n_labels, A, B):
    factor = (math.log(len(sets)) - 1) * (B + 1) ** A
    counts = [sum(label in truth for truth in sets) for label in range(n_labels)]
    return [1 / (1 + factor * math.exp(-A * math.log(count + B))) for count in counts]


def psprecision_at_k(sets, rankings, k, propensity):
    scored = best = 0.0
    for truth, ranked in zip(sets, rankings, strict=True):
        scored += sum(1 / propensity[label] for label in ranked[:k] if label in truth) / k
        best += sum(sorted((1 / propensity[label] for label in truth), reverse=True)[:k]) / k
    return scored / best if best else 0.0


def coverage_at_k(sets, rankings, k):
    there = set().union(*sets)
    found = set()
    for truth, ranked in zip(sets, rankings, strict=True):
        found |= truth & set(ranked[:k])
    return len(found) / len(there) if there else 0.0


def f1_of_sets(sets, predicted, n_labels, average):
    def f1(truth, answers):
        return 2 * len(truth & answers) / (len(truth) + len(answers)) if truth or answers else 0.0

    both = list(zip(sets, predicted, strict=True))
    if average == "samples":
        return sum(f1(*row) for row in both) / len(both)
    # Rows (and labels) of the members, so that all of them are one set.
    pairs = [
        {(row, x) for row, members in enumerate(column) for x in members}
        for column in (sets, predicted)
    ]
    if average == "micro":
        return f1(*pairs)
    of = [
        [{pair for pair in members if pair[1] == label} for members in pairs]
        for label in range(n_labels)
    ]
    return sum(f1(*column) for column in of) / n_labels
