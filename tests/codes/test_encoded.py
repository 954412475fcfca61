import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.codes import Encoded, PackedCodes
from dsnc.errors import InputError

LOGITS = np.array([[0.5, -2], [1, 3], [-1, 0], [4, 5]], dtype=np.float32)


def test_codes_are_packed_once_and_when_they_are_asked_for(monkeypatch):
    encoded = Encoded(LOGITS)
    assert encoded.codes == PackedCodes.from_logits(LOGITS)
    assert encoded.codes is encoded.codes
    monkeypatch.setattr(PackedCodes, "_pack", None)
    assert len(Encoded(LOGITS)) == 4
    assert Encoded(LOGITS).signs().tolist() == [[1, -1], [1, 1], [-1, -1], [1, 1]]


def test_codes_alone_have_signs_but_no_numbers():
    codes = PackedCodes.from_logits(LOGITS)
    encoded = Encoded(codes=codes)
    assert (len(encoded), encoded.n_bits, encoded.logits) == (4, 2, None)
    assert np.array_equal(encoded.signs(), Encoded(LOGITS).signs())
    assert encoded.take([1, 3]).codes == codes.take([1, 3])
    with pytest.raises(InputError, match="logits is None; this decoder needs logits"):
        encoded.numbers()


@pytest.mark.parametrize("X", [np.arange(12).reshape(4, 3), sp.csr_array(np.eye(4, 3))])
def test_rows_are_cut_out_when_they_are_asked_for(X):
    encoded = Encoded(LOGITS[1:], source=(X, slice(1, 4)))
    assert encoded.take(slice(1, None)).source[1] == slice(2, 4)  # no copy on the way
    for rows in ([0, 2], np.array([True, False, True]), slice(0, 3, 2)):
        part = encoded.take(slice(0, 3)).take(rows)
        assert (part.rows != X[[1, 3]]).sum() == 0
        assert (part.take([1]).rows != X[[3]]).sum() == 0
    with pytest.raises(InputError, match="rows are not available"):
        _ = Encoded(LOGITS).rows


@pytest.mark.parametrize("step", [1, 3, 4, 9])
def test_blocks_are_the_rows_in_their_order(step):
    encoded = Encoded(LOGITS)
    places, blocks = zip(*encoded.blocks(step), strict=True)
    assert np.array_equal(np.concatenate([block.logits for block in blocks]), LOGITS)
    assert all(np.array_equal(LOGITS[p], b.logits) for p, b in zip(places, blocks, strict=True))
    assert max(map(len, blocks)) == min(step, 4)
    assert [len(block) for _, block in Encoded(LOGITS[:0]).blocks(step)] == [0]


def test_a_row_that_is_not_a_number_is_named_by_its_place_in_x():
    logits = LOGITS.copy()
    logits[3, 1] = np.nan
    encoded = Encoded(logits, first=10)
    for use in (lambda e: e.codes, Encoded.numbers, Encoded.signs):
        with pytest.raises(InputError, match=r"X\[13\] has a NaN logit"):
            use(encoded)
        for part in (encoded.take(slice(2, 4)), list(encoded.blocks(2))[1][1]):
            with pytest.raises(InputError, match=r"X\[13\] has a NaN logit"):
                use(part)
    assert encoded.take(slice(0, 3)).codes == PackedCodes.from_logits(LOGITS[:3])


def test_what_does_not_fit_is_refused():
    codes = PackedCodes.from_logits(LOGITS)
    for logits in (LOGITS[:3], LOGITS[:, :1], LOGITS[0]):
        with pytest.raises(InputError, match=r"logits has shape .*; expected \(4, 2\)"):
            Encoded(logits, codes)
    with pytest.raises(InputError, match=r"logits has shape \(2,\); expected \(rows, n_bits\)"):
        Encoded(LOGITS[0])
    with pytest.raises(InputError, match="logits and codes are both None"):
        Encoded()
