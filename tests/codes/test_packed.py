import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file, save_file

import oracles
from dsnc.codes import PackedCodes, packed
from dsnc.errors import InputError

N_BITS = st.integers(1, 600)


@st.composite
def bit_tables(draw, n_bits=N_BITS, max_rows=6):
    """Bits with repeated rows, so that ties and duplicates occur."""
    shape = (draw(st.integers(0, max_rows)), draw(n_bits))
    table = draw(hnp.arrays(np.bool_, shape, elements=st.booleans()))
    rows = draw(st.lists(st.integers(0, max(0, len(table) - 1)), max_size=max_rows))
    return np.concatenate([table, table[rows]]) if len(table) else table


@given(bit_tables())
def test_packs_as_the_naive_twin_and_back(bits):
    codes = PackedCodes.from_bits(bits)
    assert np.array_equal(codes.words, oracles.pack(bits))
    assert np.array_equal(codes.to_bits(), bits)
    assert codes.to_bits().dtype == np.bool_
    assert PackedCodes.from_bits(np.asfortranarray(bits)) == codes


@given(bit_tables())
def test_signs_and_logits_give_the_same_codes(bits):
    codes = PackedCodes.from_bits(bits)
    signs = np.where(bits, 1, -1)
    assert PackedCodes.from_signs(signs) == codes
    assert PackedCodes.from_signs(signs.astype(np.float32)) == codes
    assert PackedCodes.from_logits(signs * 0.25) == codes
    assert np.array_equal(codes.to_signs(), signs)


def test_a_logit_of_zero_is_a_bit_of_zero():
    assert PackedCodes.from_logits([[0.0, -0.0, 1e-300]]).to_bits().tolist() == [
        [False, False, True]
    ]


@given(bit_tables())
def test_hexadecimal_digits(bits):
    for digits, code in zip(PackedCodes.from_bits(bits).to_hex(), bits, strict=True):
        read = "".join(f"{int(digit, 16):04b}" for digit in digits)
        assert read[: len(code)] == "".join("01"[int(bit)] for bit in code)
        assert set(read[len(code) :]) <= {"0"} and len(read) - len(code) < 8


@given(bit_tables(n_bits=st.integers(1, 64)))
def test_integer_view(bits):
    codes = PackedCodes.from_bits(bits)
    assert codes.to_ints().tolist() == oracles.as_ints(bits)
    assert PackedCodes.from_ints(codes.to_ints(), codes.n_bits) == codes


@given(st.data())
def test_distance_equals_the_naive_twin(data):
    n_bits = st.just(data.draw(N_BITS))
    a, b = data.draw(bit_tables(n_bits)), data.draw(bit_tables(n_bits))
    table = PackedCodes.from_bits(a).distance(PackedCodes.from_bits(b))
    assert np.array_equal(table, oracles.distances(a, b))


@pytest.mark.parametrize("n_bits", [255, 256, 300, 1024])
def test_opposite_codes_are_n_bits_apart(n_bits):
    ends = PackedCodes.from_bits([[0] * n_bits, [1] * n_bits])
    assert ends.distance(ends).tolist() == [[0, n_bits], [n_bits, 0]]


def test_distance_is_the_same_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.random((50, 70)) > 0.5, rng.random((30, 70)) > 0.5
    monkeypatch.setattr("dsnc.codes.packed._BLOCK_BYTES", 8 * 30 * 7)  # 7 rows a block
    table = PackedCodes.from_bits(a).distance(PackedCodes.from_bits(b))
    assert np.array_equal(table, (a[:, None] != b[None]).sum(axis=2))


@given(bit_tables(n_bits=st.integers(1, 130), max_rows=12))
def test_unique_equals_the_naive_twin(bits):
    codes = PackedCodes.from_bits(bits)
    unique = codes.unique()
    rows, counts, inverse = oracles.unique(bits)
    assert unique.rows.tolist() == rows
    assert unique.counts.tolist() == counts
    assert unique.inverse.tolist() == inverse
    assert unique.codes.take(unique.inverse) == codes
    assert codes.take(unique.rows) == unique.codes


@given(bit_tables(), st.data())
def test_take_and_concatenate(bits, data):
    codes = PackedCodes.from_bits(bits)
    cut = data.draw(st.integers(0, len(bits)))
    parts = [codes.take(slice(0, cut)), codes.take(slice(cut, None))]
    assert PackedCodes.concatenate(parts) == codes
    mask = np.arange(len(bits)) % 2 == 0
    assert np.array_equal(codes.take(mask).to_bits(), bits[mask])
    assert np.array_equal(codes.take(np.flatnonzero(mask)).to_bits(), bits[mask])


@given(bit_tables())
def test_equal_codes_have_equal_hashes(bits):
    codes, twin = PackedCodes.from_bits(bits), PackedCodes.from_bits(bits.copy())
    assert codes == twin
    assert hash(codes) == hash(twin)
    assert pickle.loads(pickle.dumps(codes)) == codes
    assert codes != PackedCodes.from_bits(np.hstack([bits, bits]))
    assert codes != "codes"
    if len(bits):
        flipped = bits.copy()
        flipped[0, -1] ^= True
        assert codes != PackedCodes.from_bits(flipped)


def test_codes_never_change():
    words = np.array([[5]], dtype=np.uint64)
    codes = PackedCodes(words, 3)
    words[0, 0] = 7
    assert codes.to_ints().tolist() == [5]
    with pytest.raises(ValueError, match="read-only"):
        codes.words[0, 0] = 1
    with pytest.raises(AttributeError, match="immutable"):
        codes.n_bits = 4


def test_a_memory_map_is_shared_not_copied(tmp_path):
    np.save(tmp_path / "words.npy", np.arange(8, dtype=np.uint64)[:, None])
    words = np.load(tmp_path / "words.npy", mmap_mode="r")
    assert np.shares_memory(PackedCodes(words, 3).words, words)


@given(bit_tables())
def test_arrays_survive_a_model_file(tmp_path_factory, bits):
    path = tmp_path_factory.mktemp("codes") / "codes.safetensors"
    codes = PackedCodes.from_bits(bits)
    save_file(codes.arrays(), path)
    assert PackedCodes.from_arrays(load_file(path)) == codes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": np.array([[8]], dtype=np.uint64)}, r"words\[0\] has bits set beyond n_bits=3"),
        ({"words": np.array([[1]], dtype=np.int64)}, "int64"),
        ({"words": np.zeros((1, 2), dtype=np.uint64)}, r"shape \(1, 2\)"),
        ({"words": np.zeros(3, dtype=np.uint64)}, "uint64 1; expected uint64 2"),
        ({"words": None}, "NoneType"),
        ({"n_bits": np.array([0])}, "n_bits=0"),
        ({"n_bits": np.array([-1])}, "n_bits=-1"),
        ({"n_bits": np.array([3.0])}, "float64 1; expected int64 1"),
        ({"n_bits": np.array([3, 3])}, "not a single number"),
        ({"n_bits": np.array([2**40])}, "words has shape"),
        ({"extra": 1}, "unknown arrays \\['extra'\\]"),
    ],
)
def test_hostile_arrays_are_refused(change, message):
    arrays = {"words": np.array([[5]], dtype=np.uint64), "n_bits": np.array([3])} | change
    with pytest.raises(InputError, match=message):
        PackedCodes.from_arrays(arrays)


def test_a_missing_array_is_named():
    with pytest.raises(InputError, match="missing arrays \\['words'\\]"):
        PackedCodes.from_arrays({"n_bits": np.array([3])})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PackedCodes.from_bits([[0, 2]]), r"bits\[0, 1\] is 2"),
        (lambda: PackedCodes.from_bits([[0.5]]), r"bits\[0, 0\] is 0.5"),
        (lambda: PackedCodes.from_bits([0, 1]), r"shape \(2,\)"),
        (lambda: PackedCodes.from_bits(np.zeros((2, 0))), "n_bits >= 1"),
        (lambda: PackedCodes.from_bits([["a"]]), "real numbers"),
        (lambda: PackedCodes.from_signs([[1, 0]]), r"signs\[0, 1\] is 0"),
        (lambda: PackedCodes.from_logits([[1.0, np.nan]]), r"logits\[0, 1\] is NaN"),
        (lambda: PackedCodes.from_logits([[1j]]), "complex"),
        (lambda: PackedCodes.from_ints([8], 3), "beyond n_bits=3"),
        (lambda: PackedCodes.from_ints([-1], 3), "0 or more"),
        (lambda: PackedCodes.from_ints([1], 65), "at most 64"),
        (lambda: PackedCodes.concatenate([]), "empty"),
        (
            lambda: PackedCodes.concatenate(
                [PackedCodes.from_ints([1], 3), PackedCodes.from_ints([1], 4)]
            ),
            r"\[3, 4\] bits",
        ),
        (lambda: PackedCodes.from_ints([1], 3).distance(PackedCodes.from_ints([1], 4)), "3 and 4"),
        (lambda: PackedCodes.from_bits(np.zeros((1, 65))).to_ints(), "do not fit"),
        (lambda: PackedCodes.from_ints([1], 3).take(0), "one row"),
    ],
)
def test_wrong_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_repr_shows_size_and_first_code():
    assert repr(PackedCodes.from_ints([5, 1], 3)) == "PackedCodes(2 codes of 3 bits, first 101)"
    assert "0 codes of 70 bits" in repr(PackedCodes.from_bits(np.zeros((0, 70))))


def test_many_rows_of_logits_are_packed_part_by_part(monkeypatch):
    logits = np.random.default_rng(0).normal(size=(23, 70)).astype(np.float32)
    whole = PackedCodes.from_logits(logits)
    monkeypatch.setattr(packed, "_ROWS", 5)
    assert np.array_equal(PackedCodes.from_logits(logits).words, whole.words)
    logits[21, 3] = np.nan
    with pytest.raises(InputError, match=r"logits\[21, 3\] is NaN"):
        PackedCodes.from_logits(logits)
