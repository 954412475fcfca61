import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pytest

from dsnc.data import glyphs
from dsnc.data.glyph_shapes import glyph_classes
from dsnc.data.glyphs import load_glyphs
from dsnc.errors import DsncWarning, InputError, MissingExtraError


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DSNC_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "glyphs"


def forbid_drawing(monkeypatch):
    def drawn(*_):
        raise RuntimeError("the pictures were drawn")

    monkeypatch.setattr(glyphs, "_generate", drawn)


def same(one, other):
    return (
        repr(one) == repr(other)
        and one.source == other.source
        and np.array_equal(one.X, other.X)
        and np.array_equal(one.y, other.y)
        and one.classes.tolist() == other.classes.tolist()
        and (one.X.dtype, one.y.dtype, one.classes.dtype)
        == (other.X.dtype, other.y.dtype, other.classes.dtype)
    )


def test_pictures_are_as_promised():
    data = load_glyphs(30, 7, cache=False)
    assert data.X.shape == (210, 400) and data.X.dtype == np.float32
    assert type(data.X) is np.ndarray and data.X.flags.writeable
    assert data.image_shape == (20, 20) and data.name == "glyphs" and "DejaVu" in data.source
    assert np.isfinite(data.X).all() and data.X.min() >= 0 and data.X.max() <= 1
    assert data.rows_per_class.tolist() == [7] * 30
    assert data.classes.tolist() == [group[0] for group in glyph_classes()[:30]]
    assert {len(c) for c in data.classes.tolist()} == {1}


def test_every_picture_shows_ink_and_no_two_are_equal():
    data = load_glyphs(40, 12, cache=False)
    assert (data.X.max(axis=1) > 0.4).all()
    assert len(np.unique(data.X, axis=0)) == len(data)


def test_pictures_resemble_their_class():
    # Against the mean of the other half: far above chance, and far from solved by it.
    data = load_glyphs(200, 40, cache=False)
    train, test = data.take(np.arange(8000) % 2 == 0), data.take(np.arange(8000) % 2 == 1)
    centers = train.X.reshape(200, 20, 400).mean(axis=1)
    distance = (centers**2).sum(axis=1) - 2 * test.X @ centers.T
    accuracy = (distance.argmin(axis=1) == test.y).mean()
    assert 0.5 < accuracy < 0.9


def test_same_arguments_same_bits_other_seed_other_bits():
    first = load_glyphs(20, 5, random_state=3, cache=False)
    assert same(first, load_glyphs(20, 5, random_state=3, cache=False))
    assert not np.array_equal(first.X, load_glyphs(20, 5, random_state=4, cache=False).X)


def test_global_random_state_is_neither_used_nor_touched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    load_glyphs(2, 2, cache=False)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_fewer_classes_are_a_prefix_of_more():
    few, many = load_glyphs(10, 6, cache=False), load_glyphs(25, 6, cache=False)
    assert np.array_equal(few.X, many.X[:60])
    assert few.classes.tolist() == many.classes[:10].tolist()


def test_blocks_do_not_change_the_pictures(monkeypatch):
    whole = load_glyphs(3, 50, cache=False)
    monkeypatch.setattr(glyphs, "_ROWS_AT_ONCE", 16)
    blocks = load_glyphs(3, 50, cache=False)
    # A smaller product may round otherwise: at most one gray level, and rarely.
    assert np.abs(whole.X - blocks.X).max() <= 1 / 255 + 1e-6
    assert (whole.X != blocks.X).mean() < 0.001


def test_there_are_more_than_two_thousand_classes():
    groups = glyph_classes()
    assert len(groups) >= 2000
    characters = "".join(groups)
    assert len(set(characters)) == len(characters)
    assert {unicodedata.category(c)[0] for c in characters} <= set("LNPS")
    assert all(group == "".join(sorted(group)) for group in groups)


@pytest.mark.parametrize("characters", ["AΑА", "BΒВ", "oοо", "-‐", "ʼ’"])
def test_one_shape_is_one_class(characters):
    [group] = [group for group in glyph_classes() if characters[0] in group]
    assert set(characters) <= set(group)


@pytest.mark.parametrize("pair", ["oO", "0O", "il", "I1", "éè", "nñ", "б6", ".,", "=≡"])
def test_different_shapes_stay_apart(pair):
    assert not [group for group in glyph_classes() if set(pair) <= set(group)]


def test_plain_characters_come_before_accented_ones():
    first = "".join(group[0] for group in glyph_classes()[:1000])
    assert first.startswith("!\"#$%&'()*+,-./0123456789:;<=>?@ABC")
    assert set("abcxyz+=ΩДя→") <= set(first)
    assert not set("éñÅ½²") & set(first)
    assert list(first) == sorted(first)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_classes": 0}, ["n_classes=0", "1 or more"]),
        ({"n_classes": 2.5}, ["n_classes=2.5", "whole number"]),
        ({"n_per_class": 0}, ["n_per_class=0", "1 or more"]),
        ({"random_state": -1}, ["random_state=-1", "0 or more"]),
        ({"n_classes": 10**6, "n_per_class": 1}, ["n_classes=1000000", "at most 2"]),
    ],
)
def test_bad_arguments_are_named_with_the_fix(arguments, words):
    with pytest.raises(InputError) as caught:
        load_glyphs(**arguments)
    assert all(word in str(caught.value) for word in words)
    with pytest.raises(InputError, match=str(len(glyph_classes()))):
        load_glyphs(len(glyph_classes()) + 1, 1)


def test_cached_pictures_equal_fresh_ones(monkeypatch, cache_folder):
    fresh = load_glyphs(12, 5, cache=False)
    assert not cache_folder.exists()
    first = load_glyphs(12, 5)
    assert len(list(cache_folder.iterdir())) == 1
    forbid_drawing(monkeypatch)
    assert same(fresh, first) and same(fresh, load_glyphs(12, 5))
    for arguments in [(13, 5), (12, 6), (12, 5, 1)]:
        with pytest.raises(RuntimeError):
            load_glyphs(*arguments)
    monkeypatch.setattr(glyphs, "GENERATOR_VERSION", glyphs.GENERATOR_VERSION + 1)
    with pytest.raises(RuntimeError):
        load_glyphs(12, 5)


def damage_shorten(folder):
    content = (folder / "X.npy").read_bytes()
    (folder / "X.npy").write_bytes(content[: len(content) // 2])


def damage_empty(folder):
    (folder / "y.npy").write_bytes(b"")


def damage_other_rows(folder):
    np.save(folder / "X.npy", np.zeros((60, 400), dtype=np.float32))


def damage_classes(folder):
    (folder / "classes.json").write_text('["a", ')


def damage_missing(folder):
    (folder / "y.npy").unlink()


@pytest.mark.parametrize(
    "damage",
    [damage_shorten, damage_empty, damage_other_rows, damage_classes, damage_missing],
)
def test_damaged_cache_is_drawn_again_and_mended(damage, monkeypatch, cache_folder):
    whole = load_glyphs(12, 5)
    [folder] = cache_folder.iterdir()
    damage(folder)
    assert same(whole, load_glyphs(12, 5))
    assert list(cache_folder.iterdir()) == [folder]
    forbid_drawing(monkeypatch)
    assert same(whole, load_glyphs(12, 5))


def test_cache_that_cannot_be_written_is_a_warning(tmp_path):
    (tmp_path / "home").write_text("a file, where the folder should be")
    with pytest.warns(DsncWarning, match="DSNC_HOME") as caught:
        data = load_glyphs(3, 2)
    assert Path(caught[0].filename) == Path(__file__)
    assert same(data, load_glyphs(3, 2, cache=False))


def test_slower_of_two_processes_keeps_what_the_faster_wrote(monkeypatch, cache_folder):
    generate = glyphs._generate

    def overtaken(*arguments):
        monkeypatch.setattr(glyphs, "_generate", generate)
        load_glyphs(3, 2)  # the other process, from start to end
        [folder] = cache_folder.iterdir()
        (folder / "mark").touch()
        return generate(*arguments)

    monkeypatch.setattr(glyphs, "_generate", overtaken)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load_glyphs(3, 2)
    [folder] = cache_folder.iterdir()
    assert (folder / "mark").exists()
    assert same(data, load_glyphs(3, 2))


@pytest.mark.parametrize("missing", ["matplotlib", "PIL.ImageFont"])
def test_missing_extra_is_named_with_the_pip_line(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        MissingExtraError, match=r"load_glyphs needs .*pip install 'dsnc\[report\]'"
    ):
        load_glyphs(2, 2, cache=False)


def test_import_does_not_load_the_extra():
    code = "import sys, dsnc.data.glyphs; print({'matplotlib', 'PIL', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_reading_the_cache_does_not_load_the_extra(cache_folder):
    load_glyphs(3, 2)
    code = (
        "import sys; from dsnc.data.glyphs import load_glyphs; load_glyphs(3, 2);"
        "print({'matplotlib', 'PIL'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
