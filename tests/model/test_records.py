"""Rows by their columns: objects or lists of values, and what is refused instead of guessed."""

import copy
import pickle

import numpy as np
import pytest

from dsnc import DSNCClassifier, DSNCMultiLabelClassifier
from dsnc.data import load_dataset
from dsnc.errors import InputError
from dsnc.model import facts_of, read_fitted
from two_texts import RECORD, two_texts

FORM = 'but the model reads \'title\', \'note\'.{} Give a row as {{"title": "...", "note": "..."}}.'


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return two_texts(tmp_path_factory.mktemp("two") / "a.csv")


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """A model of a text, a number and a category."""
    more, path = [("size", range(20)), ("kind", "xy")], tmp_path_factory.mktemp("beside") / "a.csv"
    roles = {"text_column": "title", "number_column": "size", "category_column": "kind"}
    return two_texts(path, *more, **roles)


def test_objects_and_lists_are_rows(model, tmp_path):
    text = "night nurse\x1fbus driver"
    rows = [RECORD, ["night nurse", "bus driver"], ("night nurse", "bus driver"), text]
    rows.append(dict(reversed(RECORD.items())))
    model.save(tmp_path / "m")
    for some in (model, read_fitted(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert some.predict(rows).tolist() == ["nurse"] * 5
        assert (some.predict_proba(rows) == some.predict_proba([text] * 5)).all()
        best = some.predict_top_k([text], 2)[0].tolist()
        assert some.predict_top_k(rows, 2)[0].tolist() == best * 5
        assert len(some.explain(rows)) == len(some.novelty(rows)) == len(some.encode(rows)) == 5
        assert some.is_unknown(rows).shape == some.predict(rows, unknown="?").shape == (5,)
    assert model.predict([["night nurse", None]]).tolist() == ["nurse"]
    assert model.score(rows, ["nurse"] * 5) == 1


def test_what_separates_texts_does_not_stand_in_one(model):
    shares = model.predict_proba([RECORD, ["night\x1fnurse", "bus driver"]])
    assert (shares[0] == shares[1]).all()


def test_which_text_is_which_matters(model):
    assert model.predict([["sushi cook", "bus driver"], ["bus driver", "sushi cook"]]).tolist() == [
        "cook",
        "driver",
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("night nurse", "is one text, " + FORM.format("")),
        ({"title": "a"}, "has no 'note', " + FORM.format("")),
        ({"titel": "a", "note": "b"}, "has 'titel', " + FORM.format(" Did you mean 'title'?")),
        (RECORD | {"more": 1}, "has 'more', " + FORM.format("")),
        (["a"], "is a list of 1, " + FORM.format("")),
        (("a", "b", "c"), "is a list of 3, " + FORM.format("")),
        (None, "is None of type NoneType, " + FORM.format("")),
        (b"a", "is b'a' of type bytes, " + FORM.format("")),
    ],
)
def test_what_is_no_record_is_refused(model, row, problem):
    for ask in (model.predict, model.predict_proba, model.explain, model.novelty, model.encode):
        with pytest.raises(InputError) as error:
            ask([RECORD, row])
        assert str(error.value) == f"X[1] {problem}"


def test_classes_come_from_records(model):
    changed = copy.copy(model)
    rows = [{"title": "tow boat", "note": "bus driver"}, ["tow rope", "sushi cook"]]
    changed.add_classes(rows, ["tow", "tow"])
    assert changed.predict([["a tow", "bus driver"]]).tolist() == ["tow"]
    again = changed.with_decoder("nearest", rows * 4, ["tow"] * 8)
    assert again.predict([["a tow", "bus driver"]]).tolist() == ["tow"]
    with pytest.raises(InputError, match="is one text, but the model reads"):
        changed.add_classes(["tow boat"], ["tow"])
    changed.partial_fit(rows, ["tow", "tow"])


def test_label_sets_have_records(tmp_path):
    model = two_texts(tmp_path / "a.csv", fit=DSNCMultiLabelClassifier)
    assert model.predict_sets([RECORD]) == [["nurse"]]
    with pytest.raises(InputError, match="is one text, but the model reads"):
        model.predict_sets(["night nurse"])


def test_numbers_and_categories_stand_beside_a_text(beside):
    rows = [{"title": "night nurse", "size": 3, "kind": "x"}, ["bus driver", "3", None]]
    assert beside.predict(rows).tolist() == ["nurse", "driver"]
    with pytest.raises(InputError, match=r"is one text, but .* 'size', 'kind'\. Give a row as"):
        beside.predict(["night nurse"])


def test_joined_texts_may_come_as_one(tmp_path):
    model = two_texts(tmp_path / "a.csv", separate_texts=False)
    one = model.predict_proba(["night nurse bus driver"])
    assert (one == model.predict_proba([RECORD])).all()


def test_numbers_alone_may_be_records(tmp_path):
    rows = "".join(f"{i % 2},{i % 3},{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "n.csv").write_text(f"x,y,label\n{rows}")
    data = load_dataset(tmp_path / "n.csv")
    model = DSNCClassifier(n_bits=8, max_epochs=2).fit(data.X, data.labels)
    model.data_ |= facts_of(data)
    X = np.array([[1, 0], [0, 2]])
    records = [{"x": 1, "y": 0}, {"y": "2", "x": 0.0}]
    assert (model.predict_proba(records) == model.predict_proba(X)).all()
    with pytest.raises(InputError, match=r"X\[0\] has no number in one of its columns"):
        model.predict([{"x": None, "y": 1}])
    with pytest.raises(InputError, match=r"X\[0\] has a value that is not a number .*'x'"):
        model.predict([{"x": "one", "y": 1}])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, "texts[0] is None of type NoneType; give missing texts as ''."),
        (b"nurse", "texts[0] is b'nurse' of type bytes; decode it, as by .decode()."),
    ],
)
def test_what_is_no_text_is_named(row, message):
    texts, labels = ["night nurse", "bus driver"] * 10, ["a", "b"] * 10
    model = DSNCClassifier(n_bits=8, max_epochs=1).fit(texts, labels)
    for ask in (model.predict, model.predict_proba, model.explain):
        with pytest.raises(InputError) as error:
            ask([row])
        assert str(error.value) == message
