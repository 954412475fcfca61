"""Naive twins: the plainest code that is right, to hold the fast code to."""

import math
import unicodedata
from collections import Counter

import numpy as np


def pack(bits):
    """Words of each code, as Python integers, bit by bit."""
    n_words = -(-bits.shape[1] // 64)
    words = np.zeros((len(bits), n_words), dtype=np.uint64)
    for row, code in enumerate(bits):
        for j, bit in enumerate(code):
            words[row, j // 64] |= np.uint64(int(bit) << (j % 64))
    return words


def as_ints(bits):
    """Each code as one (arbitrarily large) integer, bit 0 lowest."""
    return [sum(int(bit) << j for j, bit in enumerate(code)) for code in bits]


def distances(bits, other):
    """All pairs, counting differing bits."""
    table = [[sum(a != b for a, b in zip(x, y, strict=True)) for y in other] for x in bits]
    return np.array(table, dtype=int).reshape(len(bits), len(other))


def unique(bits):
    """Distinct codes by integer value: (first row, count) each, and the inverse."""
    ints = as_ints(bits)
    distinct = sorted(set(ints))
    rows = [ints.index(value) for value in distinct]
    counts = [ints.count(value) for value in distinct]
    inverse = [distinct.index(value) for value in ints]
    return rows, counts, inverse


def neighbors(bits, queries, k, labels=None):
    """(distance, row) of the k nearest of each query, each label once where there are labels."""
    result = []
    for query in queries:
        distances = (bits != query).sum(axis=1)
        found, seen = [], set()
        for row in np.lexsort([np.arange(len(bits)), distances]).tolist():
            label = row if labels is None else labels[row]
            if label not in seen:
                seen.add(label)
                found.append((int(distances[row]), row))
        result.append(found[:k])
    return result


def svmlight(text):
    """(labels, {index: value}) of each line that holds something."""
    rows = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        pairs = [word.split(":") for word in words if ":" in word]
        labels = " ".join(word for word in words if ":" not in word)
        if words:
            labels = [float(label) for label in labels.split(",") if label.strip()]
            rows.append((labels, {int(i): float(v) for i, v in pairs}))
    return rows


def linear_top_k(weight, bias, bits, k):
    """Classes and scores of each row, sorted by (larger score, smaller class)."""
    classes, scores = [], []
    for code in bits:
        signs = [1 if bit else -1 for bit in code]
        row = [
            sum(s * w for s, w in zip(signs, weights, strict=True)) + b
            for weights, b in zip(weight.tolist(), bias.tolist(), strict=True)
        ]
        order = sorted(range(len(row)), key=lambda j: (-row[j], j))[:k]
        classes.append(order)
        scores.append([row[j] for j in order])
    return classes, scores


def forward(layers, X, row_normalize):
    """Logits in double precision, row by row; layers are (weight, bias, activation)."""
    result = []
    for x in np.asarray(X, dtype=float):
        norm = np.sqrt((x * x).sum())
        x = x / norm if row_normalize and norm > 0 else x
        for weight, bias, activation in layers:
            x = x @ np.asarray(weight, dtype=float) + np.asarray(bias, dtype=float)
            x = np.maximum(x, 0) if activation == "relu" else x
        result.append(x)
    return np.array(result).reshape(len(X), len(layers[-1][1]))


def code_table(bits, labels):
    """(distance, label) of the nearest code of every code, in integer order; smallest label."""
    ints, n_bits = as_ints(bits), bits.shape[1]
    nearest = [
        min(((v ^ code).bit_count(), label) for code, label in zip(ints, labels, strict=True))
        for v in range(2**n_bits)
    ]
    return np.array(nearest, dtype=int).reshape(2**n_bits, 2).T


def majority(bits, y):
    """The label of each distinct code, by integer value: its most frequent one, then smallest."""
    ints = as_ints(bits)
    labels = []
    for value in sorted(set(ints)):
        mine = [label for code, label in zip(ints, y, strict=True) if code == value]
        labels.append(min(mine, key=lambda label: (-mine.count(label), label)))
    return labels


def nearest_top_k(bits, labels, n_classes, n_neighbors, queries, k):
    """(class, score) of the k best: more votes, then nearer, then the smaller class."""
    n_bits = bits.shape[1]
    result = []
    for row in distances(queries, bits).tolist():
        ranked = sorted(zip(row, labels, strict=True))
        voters = [label for _, label in ranked[:n_neighbors]]
        scored = []
        for number in range(n_classes):
            near = min((d for d, label in ranked if label == number), default=n_bits + 1)
            more = max(voters.count(number) - 1, 0)
            scored.append((number, more * (n_bits + 1) - near))
        result.append(sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k])
    return result


def probed_classes(table, ints, logits, weight, bias, n_flips):
    """(class, score) of all classes found for each row, best first; sums in float32, in order."""
    result = []
    for code, row in zip(ints, logits, strict=True):
        least_certain = sorted(range(len(row)), key=lambda j: (abs(row[j]), j))[:n_flips]
        found = set()
        for subset in range(2 ** len(least_certain)):
            flips = [bit for i, bit in enumerate(least_certain) if subset >> i & 1]
            found.add(int(table[int(code) ^ sum(1 << bit for bit in flips)]))
        scored = []
        for number in found:
            score = bias[number]
            for sign, w in zip(np.tanh(row * np.float32(0.5)), weight[number], strict=True):
                score = score + sign * w
            scored.append((number, float(score)))
        result.append(sorted(scored, key=lambda pair: (-pair[1], pair[0])))
    return result


def shortlist(weight, bias, bits, labels, queries, logits, size, **scoring):
    """For each row (class, score) of the candidates, best first, and the others, nearest first.

    Where there are no logits, a bit is worth its sign and all are equally sure.
    """
    sharpness, prior = scoring.get("sharpness", 1), scoring.get("prior", 1)
    closeness = scoring["closeness"]
    result = []
    everything = neighbors(bits, queries, None, labels)
    for query, near, row in zip(queries, everything, range(len(queries)), strict=True):
        signs = [1.0 if bit else -1.0 for bit in query]
        own = signs if logits is None else logits[row].tolist()
        soft = signs if logits is None else [math.tanh(sharpness * x / 2) for x in own]
        sure = [min(abs(x), 1e6) for x in own]
        scored, others = [], []
        for place, (_, code) in enumerate(near):
            owner = int(labels[code])
            if place >= size:
                others.append(owner)
                continue
            score = sum(map(float.__mul__, soft, weight[owner].tolist()))
            score += prior * float(bias[owner])
            differs = [s for s, a, b in zip(sure, query, bits[code], strict=True) if a != b]
            scored.append((owner, score - closeness * sum(differs)))
        result.append((sorted(scored, key=lambda pair: (-pair[1], pair[0])), others))
    return result


def likely_codes(bits, chunks, query, logits, n_flips):
    """Rows whose code is the query's in a chunk of its bits, but for some that cost little.

    Sets of the cheapest bits of a chunk are tried in the order of the sum of their ranks, and of
    equal sums in the order in which they grow: a set that came before, and a rank above its last.
    """
    sets = [()]
    total = 0
    while len(sets) < n_flips:
        total += 1
        for smaller in list(sets):
            rank = total - sum(r + 1 for r in smaller) - 1
            if rank > max(smaller, default=-1) and rank < 32:
                sets.append((*smaller, rank))
    found = set()
    for start, width, _ in chunks:
        own = query[start : start + width]
        order = np.argsort(np.abs(logits[start : start + width]), kind="stable")
        for flipped in sets[:n_flips]:
            if any(rank >= width for rank in flipped):
                continue
            value = own.copy()
            value[order[list(flipped)]] ^= True
            found |= set(np.flatnonzero((bits[:, start : start + width] == value).all(axis=1)))
    return found


def text_words(text, lowercase=True):
    """Words of a text: letters, digits and "_", and the combining marks after them."""
    text = unicodedata.normalize("NFKC", text)
    parts, inside = [], False
    for character in text.casefold() if lowercase else text:
        letter = character.isalnum() or character == "_"
        if letter and not inside:
            parts.append("")
        inside = letter or (inside and unicodedata.category(character).startswith("M"))
        if inside:
            parts[-1] += character
    return parts


def text_grams(text, words, characters, lowercase=True):
    """Hashes of all n-grams of a text, as 32-bit integers, with repetitions."""
    found = []
    for number, field in enumerate(text.split("\x1f")):
        found += field_grams(field, words, characters, lowercase, number * 0x9E3779B1 % 2**32)
    return found


def field_grams(text, words, characters, lowercase, salt):
    """Hashes of all n-grams of a field of a text."""
    parts, found = text_words(text, lowercase), []
    if words is not None:
        hashes = [fnv_murmur(0x9AE16A3B ^ salt, map(ord, part)) for part in parts]
        for n in range(words[0], words[1] + 1):
            for start in range(len(hashes) - n + 1):
                found.append(fnv_murmur(0xC3A5C85C, hashes[start : start + n][::-1]))
    for padded in [f" {part} " for part in parts] if characters is not None else []:
        for n in range(characters[0], characters[1] + 1):
            for start in range(max(1, len(padded) - n + 1)):
                found.append(fnv_murmur(0x811C9DC5 ^ salt, map(ord, padded[start : start + n])))
            if len(padded) <= n:  # a short word counts once
                break
    return found


def fnv_murmur(seed, items):
    """FNV-1a over items, finalized as MurmurHash3 is, modulo 2**32."""
    h = seed
    for item in items:
        h = (h ^ item) * 0x01000193 % 2**32
    h = (h ^ (h >> 16)) * 0x85EBCA6B % 2**32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 % 2**32
    return h ^ (h >> 16)


def text_rows(grams, others, *, n_hashes, min_rows, max_features, sublinear):
    """Buckets of the columns learned from `grams`, and the row {column: weight} of each other."""
    frequency = Counter(bucket for row in grams for bucket in {h % n_hashes for h in row})
    least = min_rows if max(frequency.values()) >= min_rows else 1
    kept = sorted((b for b in frequency if frequency[b] >= least), key=lambda b: (-frequency[b], b))
    buckets = sorted(kept[:max_features])
    rows = []
    for row in others:
        row = Counter(h % n_hashes for h in row)
        weights = {}
        for column, bucket in enumerate(buckets):
            if bucket in row:
                tf = 1 + math.log(row[bucket]) if sublinear else row[bucket]
                idf = math.log((1 + len(grams)) / (1 + frequency[bucket])) + 1
                weights[column] = tf * idf
        length = math.sqrt(sum(w * w for w in weights.values()))
        rows.append({column: w / length for column, w in weights.items()})
    return buckets, rows


def noise(seed, places):
    """Numbers in [0, 1) that a 32-bit seed and places decide."""
    low = np.uint64(2**32 - 1)
    x = (np.uint64(seed) + np.atleast_1d(places).astype(np.uint64) * np.uint64(0x9E3779B9)) & low
    x = (x ^ x >> np.uint64(16)) * np.uint64(0x7FEB352D) & low
    x = (x ^ x >> np.uint64(15)) * np.uint64(0x846CA68B) & low
    return ((x ^ x >> np.uint64(16)) >> np.uint64(8)) / 2**24


def row_seed(seed, place):
    """32 random bits of a row, from the 64 of an epoch (splitmix64)."""
    x = (int(seed) + place * 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x >> 32


def training_steps(rows, y, weight, weights, squares, plan, rates, seed, near, *, size, n_nearest):
    """Take the steps over all rows, moving float64 arrays in place; return the sum of the losses.

    `rows` are lists of (feature, value), `y` dicts of class to gain, `weights` and `squares` those
    of `dsnc.fast`. `near` is a list of the nearest classes of each row; where there is None, they
    are looked for and written there. The rows of a batch are encoded, and their classes found,
    before those of the batch in front are moved.
    """
    total = 0.0
    batches = [range(first, min(first + size, len(y))) for first in range(0, len(y), size)]

    def prepared(batch):
        window = _window(row_seed(seed ^ 0x5851F42D4C957F2D, batch[0]), len(weights.classes), plan)
        result = []
        for row in batch:
            logits = _logits(rows[row], weights)
            if near[row] is None:
                near[row] = nearest_classes(logits, weights, window, n_nearest)
            chosen = row_seed(seed, row)
            result.append(prepared_row(logits, y[row], near[row], weights, plan, chosen))
        return result

    ready = prepared(batches[0])
    for batch, following in zip(batches, [*batches[1:], None], strict=True):
        found, ready = ready, following and prepared(following)
        scored = [
            scored_row(y[row], weight[row], weights, plan, *parts)
            for row, parts in zip(batch, found, strict=True)
        ]
        total += sum(loss for loss, *_ in scored)
        rate = [begin + (end - begin) * batch[0] / len(y) for begin, end in rates]
        for _, classes, inputs, gradients, _ in scored:
            for k, by_input in zip(classes, gradients.T, strict=True):
                if abs(by_input).max() >= 1e-4:
                    _move_class(k, by_input @ inputs, by_input.sum(), weights, squares, plan, rate)
        for row, (*_, gradient) in zip(batch, scored, strict=True):
            if plan.moves_encoder and gradient.any():
                _move_features(rows[row], gradient, weights, squares, plan, rate[0])
    return total


def _logits(row, weights):
    logits = weights.bias[0].copy()
    for feature, value in row:
        logits += value * weights.encoder[feature]
    return logits


def _window(chosen, n_classes, plan):
    """Classes among which the nearest are looked for: blocks of 512, from a random one on."""
    n_blocks = -(-n_classes // 512)
    size, first = min(n_blocks, plan.window), 0
    if size < n_blocks:
        first = min(int(noise(chosen, 0)[0] * (n_blocks - size + 1)), n_blocks - size)
    return range(512 * first, min(512 * (first + size), n_classes))


def nearest_classes(logits, weights, window, n_nearest):
    codes = weights.classes[window.start : window.stop] > 0
    return [window.start + row for _, row in neighbors(codes, [logits > 0], n_nearest)[0]]


def prepared_row(logits, own, near, weights, plan, chosen):
    """Chances of the bits, classes and how many each stands for, and inputs with their shares."""
    n_all, n_bits, stream = len(weights.classes), len(logits), 1 << 16
    near = [*own, *(k for k in near if k not in own)]
    drawn = []
    if len(near) < n_all:
        places = stream * (plan.n_draws + 1) + 16 * np.arange(plan.n_uniform)
        drawn = [min(int(share * n_all), n_all - 1) for share in noise(chosen, places)]
        drawn = [k for k in drawn if k not in near]
    classes = near + drawn
    stands_for = (n_all - len(near)) / max(len(drawn), 1)
    counts = np.array([1.0] * len(near) + [stands_for] * len(drawn))
    chances = 1 / (1 + np.exp(-plan.sharpness * logits))
    inputs = [
        np.where(noise(chosen, s * stream + np.arange(n_bits)) < chances, 1.0, -1.0)
        for s in range(plan.n_draws)
    ]
    shares = [(1 - plan.soft_share) / plan.n_draws for _ in inputs]
    if plan.soft_share > 0:
        inputs.append(2 * chances - 1)
        shares.append(plan.soft_share)
    return chances, classes, counts, np.array(inputs), shares


def scored_row(own, weight, weights, plan, chances, classes, counts, inputs, shares):
    """Loss, classes, inputs, and the gradients of scores (by input and class) and of logits."""
    loss, gradients, gains = 0.0, [], np.zeros(len(classes))
    gains[: len(own)] = list(own.values())
    for share, code in zip(shares, inputs, strict=True):
        scores = weights.classes[classes] @ code + weights.class_bias[classes]
        of_scores = sigmoid_loss if plan.each_alone else softmax_loss
        of_input, gradient = of_scores(scores, gains, counts, plan.smoothing, len(weights.classes))
        loss += weight * share * of_input
        gradients.append(weight * share * gradient)
    gradients = np.array(gradients)
    of_scores = gradients.sum(axis=0)
    of_scores[abs(of_scores) < 1e-4] = 0
    of_logits = (of_scores @ weights.classes[classes]) * 2 * chances * (1 - chances)
    return loss, classes, inputs, gradients, of_logits


def softmax_loss(scores, gains, counts, smoothing, n_all):
    if not gains.sum():
        return 0.0, np.zeros(len(scores))
    target = smoothing * counts / n_all + (1 - smoothing) * gains / gains.sum()
    scores = scores + np.log(counts)
    logarithm = np.logaddexp.reduce(scores)
    return logarithm - target @ scores, np.exp(scores - logarithm) - target


def sigmoid_loss(scores, gains, counts, *_):
    against = np.where(gains > 0, 0, counts)
    loss = gains @ np.logaddexp(0, -scores) + against @ np.logaddexp(0, scores)
    chance = 1 / (1 + np.exp(-scores))
    return loss, gains * (chance - 1) + against * chance


def _move_class(k, gradient, of_bias, weights, squares, plan, rate):
    square = gradient @ gradient / len(gradient)
    squares.classes[k] = plan.fading * squares.classes[k] + square
    weights.classes[k] -= rate[1] * gradient / math.sqrt(squares.classes[k] + 1e-10)
    squares.class_bias[k] += of_bias**2
    step = rate[1] * plan.bias_rate / math.sqrt(squares.class_bias[k] + 1e-10)
    weights.class_bias[k] -= step * of_bias


def _move_features(row, gradient, weights, squares, plan, rate):
    square = gradient @ gradient / len(gradient)
    squares.bias[0] += square
    weights.bias[0] -= rate * gradient / math.sqrt(squares.bias[0] + 1e-10)
    for feature, value in row:
        squares.encoder[feature] = plan.fading * squares.encoder[feature] + square * value**2
        step = rate * value / math.sqrt(squares.encoder[feature] + 1e-10)
        weights.encoder[feature] -= step * gradient


def signs_of_strangeness(scores, logits, codes, rows, seen, hide=None):
    """Doubt, score, distance and share of unseen features of each row, loop by loop.

    `codes` are logits of remembered rows and their classes. `hide` is the class of each row that
    may not be the answer, and for each feature the only class that has it; the probability of a
    hidden class is left out if it is one of the two best.
    """
    remembered, owners = codes
    unit = [code / np.linalg.norm(code) for code in remembered]

    def nearness(code, others):
        near = [math.exp(30 * (float(code @ other) - 1)) for other in others]
        return math.log(max(sum(near) / max(len(near), 1), math.exp(-60))) / 30

    signs = []
    for i, row in enumerate(rows):
        allowed = [k for k in range(scores.shape[1]) if hide is None or k != hide[0][i]]
        best = max(allowed, key=lambda k: scores[i, k])
        first, second = sorted(range(scores.shape[1]), key=lambda k: -scores[i, k])[:2]
        others = allowed if hide and hide[0][i] in (first, second) else range(scores.shape[1])
        p = 1 / sum(math.exp(scores[i, k] - scores[i, best]) for k in others)
        p = min(max(p, 1e-6), 1 - 1e-6)
        own = [code for code, owner in zip(unit, owners, strict=True) if owner == best]
        usual = [-0.3]
        if len(own) > 1:
            usual += [nearness(x, [y for y in own if y is not x]) for x in own]
        near = nearness(logits[i] / np.linalg.norm(logits[i]), own) - sum(usual) / len(usual)
        is_new = seen == 0
        if hide is not None:
            is_new = is_new | (hide[1] == hide[0][i])
        share = sum(row[is_new] ** 2) / max(sum(row**2), 1e-300)
        signs.append([math.log((1 - p) / p), -scores[i, best], -near, share])
    return np.array(signs)


def calibrated_odds(odds, lead, confidence):
    """The log-odds of the best class, by the lines and the curve; a lead of None is no rival."""
    if lead is None:
        z = confidence.odds_alone * odds + confidence.offset_alone
    else:
        margin = math.log(0.05 + lead / confidence.unit)
        z = confidence.odds * odds + confidence.margin * margin + confidence.offset
    knots, values = confidence.curve
    piece = next((i for i, right in enumerate(knots[1:]) if z <= right), len(knots) - 2)
    slope = (values[piece + 1] - values[piece]) / (knots[piece + 1] - knots[piece])
    return values[piece] + slope * (z - knots[piece])


def shares_of_candidates(scores, n_others, confidence):
    """Probabilities of a row's candidates, best first, and of each class that is none of them."""
    values = [score / confidence.temperature for score in scores]
    if n_others:
        values.append(confidence.other / confidence.temperature)
    if len(values) == 1:  # nothing else is possible
        return [1.0], 0.0
    rest = [math.exp(min(700, value - max(values[1:]))) for value in values[1:]]
    odds = values[0] - max(values[1:]) - math.log(sum(rest))
    lead = scores[0] - scores[1] if len(scores) > 1 else None
    best = 1 / (1 + math.exp(-calibrated_odds(odds, lead, confidence)))
    total = sum(rest)
    each = rest.pop() / total / n_others if n_others else 0.0
    others = [max(share / total, each) for share in rest]  # no candidate is less probable
    whole = sum(others) + n_others * each
    most = max([each, *others]) / whole
    best = max(best, most / (1 + most))  # the best class stays the most probable
    return [best, *(share / whole * (1 - best) for share in others)], each / whole * (1 - best)
