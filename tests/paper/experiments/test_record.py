import os

import numpy as np
import pytest

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, NearestDecoder
from dsnc.errors import OutputError
from dsnc.paper.experiments.record import Record, find_records, read_record, write_record


def test_what_was_written_is_read(define, keep, figures):
    definition = define()
    words = np.array([[1], [2]], dtype=np.uint64)
    record = keep(
        definition,
        {"linear": figures(0.5)},
        {"train": {"codes": 3}},
        {"y": np.array([1, 2]), "words": words},
        history={"epochs": []},
        seconds={"fit": 1.5},
    )
    assert record.definition == definition
    assert record.outcomes["linear"]["accuracy"] == 0.5
    assert record.arrays["y"].tolist() == [1, 2]
    assert record.test_codes == PackedCodes(words, 8)
    assert record.seconds == {"fit": 1.5} and not record.error and not record.has_decoders


def test_decoders_are_kept_whole(define, tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20, 8)).astype(np.float32)
    codes = PackedCodes.from_logits(logits)
    decoders = {
        "linear": LinearDecoder(rng.normal(size=(4, 8)), np.zeros(4)),
        "nearest": NearestDecoder(codes, np.arange(20) % 4, 4),
    }
    definition = define()
    write_record(Record(definition), {}, tmp_path, decoders=decoders, logits=logits)
    found, found_logits = read_record(definition.folder(tmp_path)).decoders()
    assert np.array_equal(found_logits, logits)
    for name, decoder in decoders.items():
        expected = decoder.predict(Encoded(logits, codes))
        assert np.array_equal(found[name].predict(Encoded(logits, codes)), expected)


def test_a_record_replaces_another(define, keep):
    keep(define(), error="out of memory")
    assert keep(define(), {"own": {"accuracy": 1.0}}).error == ""


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 cut off"])
def test_damaged_arrays_are_none(define, keep, content):
    record = keep(define(), arrays={"y": np.arange(3)})
    path = record.folder / "arrays.npz"
    path.unlink() if content is None else path.write_bytes(content)
    assert read_record(record.folder).arrays == {}


def test_a_recipe_of_the_future_is_no_record(define, keep):
    record = keep(define())
    path = record.folder / "record.json"
    path.write_text(path.read_text().replace('"recipe": "default"', '"recipe": "future"'))
    assert read_record(record.folder) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 3}', '{"format": 2}', '{"format": 1}'])
def test_what_cannot_be_read_is_no_record(define, keep, tmp_path, text):
    record = keep(define())
    (record.folder / "record.json").write_text(text)
    assert read_record(record.folder) is None
    assert list(find_records(tmp_path)) == []


def test_all_records_are_found_and_nothing_else(define, keep, tmp_path):
    for seed in range(3):
        keep(define(seed=seed))
    unfinished = tmp_path / "tiny" / ".dsnc-unfinished"
    unfinished.mkdir()
    (unfinished / "record.json").write_text((keep(define()).folder / "record.json").read_text())
    assert [r.definition.seed for r in find_records(tmp_path)] == [0, 1, 2]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named_without_root(define, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot be written"):
        write_record(Record(define()), {}, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(define, tmp_path):
    (tmp_path / "tiny").write_text("a file where a folder should be")
    with pytest.raises(OutputError, match=r"tiny.*cannot be written.*choose another folder"):
        write_record(Record(define()), {}, tmp_path)
