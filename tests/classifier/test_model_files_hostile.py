"""Model files that are damaged, or made to do harm: loaded as they are, or a ModelFileError."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dsnc
from dsnc.errors import DsncError, ModelFileError
from three_classes import X, Y, quick


def rewrite(folder, change):
    """Change the parsed header, and write it back."""
    path = folder / "model.json"
    header = json.loads(path.read_text())
    change(header)
    path.write_text(json.dumps(header))


def refused(folder, message):
    with pytest.raises(ModelFileError, match=f"(?s){message}") as caught:
        dsnc.load(folder)
    assert str(folder) in str(caught.value)
    return str(caught.value)


def test_files_that_are_no_model(tmp_path, saved):
    refused(tmp_path / "nowhere", "is not a folder")
    (saved / "model.safetensors").unlink()
    refused(saved, "is missing")


def test_another_kind_of_model(saved):
    rewrite(saved, lambda header: header.update(kind="other"))
    refused(saved, "is of kind 'other'. Expected 'dsnc'")


@pytest.mark.parametrize(
    "key", ["parameters", "classes", "encoder", "decoder", "features", "metrics", "data"]
)
def test_a_missing_key_is_named(saved, key):
    rewrite(saved, lambda header: header.pop(key))
    refused(saved, f"has no '{key}'")


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("features", "label_kind"),
        ("features", "names"),
        ("metrics", "epochs"),
        ("metrics", "best_epoch"),
        ("metrics", "validation_accuracy"),
    ],
)
def test_a_missing_inner_key_is_named(saved, part, key):
    rewrite(saved, lambda header: header[part].pop(key))
    refused(saved, f"has no '{key}'")


HUGE = 10**4000


@pytest.mark.parametrize(
    ("part", "key", "value", "message"),
    [
        ("parameters", "n_bit", 3, "parameters='n_bit' is not known. Did you mean 'n_bits'"),
        ("parameters", "__class__", "os.system", "'__class__' is not known"),
        ("parameters", "device", "cuda", "parameters='device' is not known"),
        ("parameters", "checkpoint", "/etc", "parameters='checkpoint' is not known"),
        ("parameters", "callbacks", [], "parameters='callbacks' is not known"),
        ("parameters", "n_bits", 11, "n_bits=11, but the codes have 10 bits"),
        ("parameters", "n_bits", "10", "n_bits='10' must be"),
        ("parameters", "n_bits", HUGE, "do not fit together"),
        ("parameters", "n_bits", None, "n_bits=None must be"),
        ("parameters", "max_epochs", 0, "max_epochs=0 must be"),
        ("parameters", "learning_rate", "x", "learning_rate='x' must be"),
        ("parameters", "learning_rate", HUGE, "do not fit together"),
        ("parameters", "beta", [], r"beta=\[\] must be"),
        ("parameters", "scaling", {}, "scaling={} is not known"),
        ("parameters", "decoder", "nope", "decoder='nope' is not known"),
        ("parameters", "class_weight", [1], "do not fit together"),
        ("parameters", "class_weight", [[[], 1]], "do not fit together"),
        ("parameters", "class_weight", [["a", "z"]], "class_weight.*must be a number"),
        ("parameters", "class_weight", {"a": "z"}, "class_weight.*must be a number"),
        ("data", "changes", 0.5, "changes is not a list"),
        ("metrics", "validation_accuracy", 10**400, "too large"),
        ("metrics", "test", {"accuracy": 10**400}, "too large"),
        ("features", "label_kind", "int65", "label_kind='int65' .* Did you mean 'int64'"),
        ("features", "label_kind", "text", "not of kind 'text'"),
        ("features", "label_kind", ["int64"], "do not fit together"),
        ("features", "label_kind", None, "label_kind=None is not known"),
        ("features", "names", ["a"], "1 names for 5 features"),
        ("features", "names", [1, 2, 3, 4, 5], "names is not a list of texts"),
        ("features", "names", "abcde", "names is not a list of texts"),
        ("metrics", "epochs", "2", "metrics: epochs is of type str"),
        ("metrics", "epochs", True, "metrics: epochs is of type bool"),
        ("metrics", "best_epoch", [], "metrics: best_epoch is of type list"),
        ("metrics", "validation_accuracy", {}, "metrics: validation_accuracy is of type dict"),
    ],
)
def test_a_wrong_value_is_refused(saved, part, key, value, message):
    rewrite(saved, lambda header: header[part].update({key: value}))
    assert len(refused(saved, message)) < 10_000


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([], "0 classes for 3 scores"),
        ([0, 1], "2 classes for 3 scores"),
        ([0, 1, 2, 3], "4 classes for 3 scores"),
        ([0, 1, 1], "occurs more than once"),
        ([0, True, 2], ""),
        ([0, 1, 2.5], "not of kind 'int64'"),
        ([0, 1, "2"], "do not fit together"),
        (["0", "1", "2"], "do not fit together"),
        ([None, 1, 2], "classes_ holds None"),
        ([[0], [1], [2]], "classes_ holds"),
        ([{"a": 1}, 1, 2], "classes_ holds"),
        ([0, 1, 2**63], "do not fit together"),
        ([0, 1, HUGE], "do not fit together"),
        ([-HUGE, 1, 2], "do not fit together"),
    ],
    ids=lambda value: str(value)[:30],
)
@pytest.mark.parametrize("kind", ["int64", "object"])
def test_wrong_classes_are_refused(saved, kind, classes, message):
    rewrite(saved, lambda h: h.update(classes=classes) or h["features"].update(label_kind=kind))
    if kind == "int64" and message:
        refused(saved, message)
        return
    try:
        labels = dsnc.load(saved).predict(X)
    except ModelFileError:
        return
    assert set(labels.tolist()) <= set(classes)


def test_classes_may_be_in_any_order(saved):
    """Class number i is the i-th label of the file, whatever the labels are."""
    before = dsnc.load(saved)
    assert before.classes_.tolist() == [0, 1, 2]
    rewrite(saved, lambda header: header.update(classes=[7, 9, 1]))
    model = dsnc.load(saved)
    assert np.array_equal(model.predict(X), np.array([7, 9, 1])[before.predict(X)])
    assert np.array_equal(model.predict_proba(X), before.predict_proba(X))
    model.set_params(device="cpu").partial_fit(X, np.array([7, 9, 1])[Y], classes=[1, 7, 9])
    twin = before.set_params(device="cpu").partial_fit(X, Y)
    assert np.array_equal(model.predict(X), np.array([7, 9, 1])[twin.predict(X)])


@pytest.mark.parametrize("key", ["encoder", "decoder"])
def test_another_encoder_or_decoder_is_refused(saved, key):
    rewrite(saved, lambda header: header.update({key: "layer"}))
    refused(saved, f"{key}='layer' is not known")


@pytest.mark.parametrize("depth", [50, 200, 400, 900])
def test_nested_values_do_no_harm(saved, depth):
    nested = json.loads("[" * depth + "]" * depth)
    for part, key in (("parameters", "encoder"), ("parameters", "hidden"), ("data", "rows")):
        before = (saved / "model.json").read_text()
        rewrite(saved, lambda header, part=part, key=key: header[part].update({key: nested}))
        loads_or_is_refused(saved)
        (saved / "model.json").write_text(before)


def loads_or_is_refused(folder):
    """There are two ways a file may go, and no third."""
    try:
        model = dsnc.load(folder)
    except ModelFileError as error:
        assert str(folder) in str(error)
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        assert len(model.predict(X)) == len(X)
        assert model.predict_proba(X).shape == (len(X), 3)
        assert model.predict_top_k(X, k=2)[0].shape == (len(X), 2)
    assert repr(model.history_)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 3, 5, 10, 2**63, 2**64, HUGE])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["linear", "mlp", "auto", "text", "int64", "object", "\ud800", "dsnc"]),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value, path=()):
    """Yield the path of every value in a parsed JSON text."""
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_anywhere_does_no_harm(saved, data):
    path = saved / "model.json"
    original = path.read_text()
    try:
        header = json.loads(original)
        for _ in range(data.draw(st.integers(1, 2))):
            *way, key = data.draw(st.sampled_from([p for p in places(header) if p]))
            inner = header
            for step in way:
                inner = inner[step]
            change = data.draw(st.sampled_from(["replace", "remove", "add"]))
            if change == "replace" or isinstance(inner, list):
                inner[key] = data.draw(JSON)
            elif change == "remove":
                del inner[key]
            else:
                inner[data.draw(st.text(max_size=3))] = data.draw(JSON)
        path.write_text(json.dumps(header))
        loads_or_is_refused(saved)
    finally:
        path.write_text(original)


def test_arrays_that_do_not_belong_together_are_refused(saved, tmp_path):
    quick(n_bits=9).fit(X, Y).save(tmp_path / "other")
    for name in ("model.json", "model.safetensors"):
        before = (saved / name).read_bytes()
        (saved / name).write_bytes((tmp_path / "other" / name).read_bytes())
        refused(saved, "model")
        (saved / name).write_bytes(before)
    dsnc.load(saved)


def test_errors_are_of_the_family(tmp_path):
    with pytest.raises(DsncError):
        dsnc.load(tmp_path)
    with pytest.raises(ValueError, match="model.json"):
        dsnc.load(tmp_path)
