"""The loops of `TextFeatures`: code points to hashed n-grams, n-grams to weighted columns.

The hash of a sequence is FNV-1a's rule over whole items in place of octets, modulo 2**32,

    h = seed;  h = (h ^ item) * 0x01000193 for each item,

and the finalizer of MurmurHash3 (`_mixed`) on top, which makes every bit depend on all. It is the
same on every machine.

- n characters: the items are their code points, the word's borders are spaces;
- a word: the items are its code points;
- n words: the items are the hashes of the words, the last one first, so that one pass backwards
  gives all n.

A text may have fields, with `FIELD` between them: in the k-th, counted from 0, k times `OF_A_FIELD`
is mixed into the seeds of words and characters, and no n-gram crosses a border.

The bucket is the hash modulo the number of buckets, a power of two.

All kernels take `settings`: the shortest and longest n-gram of words and of characters (0 for
none), and whether repetitions count sublinearly. `room` is theirs to write to: hashes of the last
`LONGEST` words, then the buckets of a text.
"""

import math

import numpy as np

from dsnc.codes._kernels.tools import inlined, kernel, lowest_bit, part, popcount
from dsnc.features import grams
from dsnc.features.grams import BREAK, FIELD, LONGEST, WORD

NEWLINE, SPACE = 10, 32  # ends a text; stands for every break between words

_PRIME = np.uint32(grams.PRIME)
_OF_CHARACTERS, _OF_A_WORD = np.uint32(grams.OF_CHARACTERS), np.uint32(grams.OF_A_WORD)
_OF_WORDS, _OF_A_FIELD = np.uint32(grams.OF_WORDS), np.uint32(grams.OF_A_FIELD)
_FIRST, _SECOND = np.uint32(grams.MIX_FIRST), np.uint32(grams.MIX_SECOND)
_ONE, _SIX, _LOW = np.uint64(1), np.uint64(6), np.uint64(63)


@inlined
def _step(h, item):
    return np.uint32((h ^ item) * _PRIME)  # the cast also makes it a multiplication of 32 bits


@inlined
def _mixed(h):
    h = np.uint32((h ^ (h >> 16)) * _FIRST)
    h = np.uint32((h ^ (h >> 13)) * _SECOND)
    return np.uint32(h ^ (h >> 16))


@part
def _hash_text(points, place, kinds, settings, mask, room):
    """Write the buckets of the text that starts at `place`; return the next place and their end.

    What separates words is overwritten by spaces on the way: n-grams of characters read them.
    """
    end, n_words, field = np.int64(LONGEST), 0, np.uint32(0)
    while points[place] != NEWLINE:
        if kinds[points[place]] != WORD:  # a mark without a letter separates, too
            if points[place] == FIELD:
                n_words, field = 0, np.uint32(field + _OF_A_FIELD)
            points[place] = SPACE
            place += 1
            continue
        start, h = place, np.uint32(_OF_A_WORD ^ field)
        while kinds[points[place]] != BREAK:
            h = _step(h, points[place])
            place += 1
        stop = points[place]
        points[place] = SPACE
        if settings[3]:
            seed = np.uint32(_OF_CHARACTERS ^ field)
            end = _hash_characters(points, start - 1, place + 1, settings, mask, room, end, seed)
        if settings[1]:
            room[n_words % LONGEST] = _mixed(h)
            n_words += 1
            end = _hash_words(n_words, settings, mask, room, end)
        place += 1
        if stop == NEWLINE:
            return place, end
        if stop == FIELD:
            n_words, field = 0, np.uint32(field + _OF_A_FIELD)
    points[place] = SPACE
    return place + 1, end


@part
def _hash_characters(points, start, stop, settings, mask, room, end, seed):
    """Write the buckets of all n-grams of a word with its borders; a short word is one n-gram."""
    shortest, longest = min(settings[2], stop - start), settings[3]
    for first in range(start, stop - shortest + 1):
        h = seed
        for place in range(first, first + shortest - 1):
            h = _step(h, points[place])
        for place in range(first + shortest - 1, min(first + longest, stop)):
            h = _step(h, points[place])
            room[end] = _mixed(h) & mask
            end += 1
    return end


@part
def _hash_words(n_words, settings, mask, room, end):
    """Write the buckets of the n-grams that end with the newest word."""
    h = _OF_WORDS
    for size in range(1, min(settings[1], n_words) + 1):
        h = _step(h, room[(n_words - size) % LONGEST])
        if size >= settings[0]:
            room[end] = _mixed(h) & mask
            end += 1
    return end


@kernel
def count_rows(points, kinds, settings, room, n_rows, first, tally):
    """Add 1 to ``tally[bucket, 0]`` for each text in which a bucket occurs.

    ``tally[bucket, 1]`` remembers the last text, so that repetitions do not count; texts are
    numbered from `first`, which is 1 or more.
    """
    mask, place = np.uint32(tally.shape[0] - 1), np.int64(1)
    points[0] = SPACE
    for row in range(first, first + n_rows):
        place, end = _hash_text(points, place, kinds, settings, mask, room)
        for i in range(LONGEST, end):
            bucket = room[i]
            if tally[bucket, 1] != row:
                tally[bucket, 1] = row
                tally[bucket, 0] += 1


@kernel
def weigh_rows(points, kinds, settings, room, known, idf, marks, counts, indptr, indices, data):
    """Write the rows of a sparse matrix of unit length, columns ascending; return their size.

    Bit b of ``known[:, 0]`` says whether bucket b has a column. Columns are in the order of the
    buckets, so that a column is the number of known buckets before it: ``known[word, 1]`` in other
    words, and those in the same word. `marks` has three sets of bits, empty before and after:
    columns that occur, columns that occur again (and only then have a count), and words of the
    first that are not 0.
    """
    mask, place, filled = np.uint32(64 * known.shape[0] - 1), np.int64(1), 0
    seen, again, blocks = marks[0], marks[1], marks[2]
    n_blocks = (seen.shape[0] + 63) // 64
    points[0] = SPACE
    indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        place, end = _hash_text(points, place, kinds, settings, mask, room)
        for i in range(LONGEST, end):
            bucket = np.uint64(room[i])
            word, bit = bucket >> _SIX, _ONE << (bucket & _LOW)
            if known[word, 0] & bit:
                _note(marks, counts, known[word, 1] + popcount(known[word, 0] & (bit - _ONE)))
        start, total = filled, 0.0
        for block in range(n_blocks):
            outer = blocks[block]
            blocks[block] = 0
            while outer:
                word = 64 * block + lowest_bit(outer)
                outer &= outer - _ONE
                inner, repeated = seen[word], again[word]
                seen[word] = again[word] = 0
                while inner:
                    bit = lowest_bit(inner)
                    inner &= inner - _ONE
                    column = 64 * word + bit
                    value = np.float64(idf[column])
                    if repeated >> np.uint64(bit) & _ONE:
                        tf = counts[column]
                        value *= 1 + math.log(tf) if settings[4] else tf
                    indices[filled], data[filled] = column, value
                    total += value * value
                    filled += 1
        scale = 1 / math.sqrt(total) if total > 0 else 0.0
        for i in range(start, filled):
            data[i] *= scale
        indptr[row + 1] = filled
    return filled


@inlined
def _note(marks, counts, column):
    """Mark a column of the row, and count it if it was marked."""
    word, bit = column >> _SIX, _ONE << (column & _LOW)
    if not marks[0, word] & bit:
        marks[0, word] |= bit
        marks[2, word >> _SIX] |= _ONE << (word & _LOW)
    elif not marks[1, word] & bit:
        marks[1, word] |= bit
        counts[column] = 2
    else:
        counts[column] += 1
