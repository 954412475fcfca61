"""The card that `save` writes, and what model.json knows of how the model was made."""

import json
import math
import pickle

import numpy as np
import pytest

import dsnc
import many_classes
from dsnc.baselines import MLPBaseline, NearestCentroidBaseline, OneVsRestBaseline
from three_classes import X, Y, contents, quick


def read_card(folder):
    yaml = pytest.importorskip("yaml", reason="reads the head of a card")
    _, head, body = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def header_of(folder):
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


# The card


def test_a_card_for_hubs_and_people(tmp_path):
    model = quick(n_bits=12).fit(X, np.array(["ant", "bee", "c`at|<b>"])[Y])
    model.data_["name"] = 'odd: "name"\n.tsv'
    model.keep_test_figures(
        {"rows": np.int64(5), "accuracy": 0.25, "macro_accuracy": np.float32(0.5)}
    )
    model.save(tmp_path / "insects")
    head, body = read_card(tmp_path / "insects")
    assert (head["library_name"], head["pipeline_tag"]) == ("dsnc", "tabular-classification")
    assert "license" not in head
    [index] = head["model-index"]
    assert index["name"] == "insects"
    validation, test = index["results"]
    assert validation["metrics"][0]["value"] == model.figures_["validation_accuracy"]
    assert [metric["value"] for metric in test["metrics"]] == [0.25, 0.5]
    assert test["dataset"]["name"] == 'odd: "name"\N{REPLACEMENT CHARACTER}.tsv'
    for text in ("# insects", r"ant, bee, c\`at\|\<b\>", 'dsnc.load("insects")', "25.00 %"):
        assert text in body
    assert "max_epochs=2, n_bits=12" in body
    assert model.data_["fingerprint"] in body


@pytest.mark.parametrize(
    "model",
    [
        MLPBaseline(n_units=4, max_epochs=1, device="cpu"),
        OneVsRestBaseline(max_epochs=1, device="cpu", validation_fraction=0),
        NearestCentroidBaseline(),
        quick(validation_fraction=0),
    ],
    ids=lambda model: model.kind,
)
def test_every_kind_has_a_card(model, tmp_path):
    model.fit(X, Y).save(tmp_path / "m")
    head, body = read_card(tmp_path / "m")
    assert ("model-index" in head) == ("validation_accuracy" in model.figures_)
    assert f"| kind | {model.kind} |" in body
    loaded = dsnc.load(tmp_path / "m")
    assert loaded.figures_ == model.figures_
    loaded.save(tmp_path / "again")  # by who has not trained it: without torch and names
    assert contents(tmp_path / "again") == contents(tmp_path / "m")


def test_texts_are_shown_as_texts(tmp_path):
    texts = ["night nurse", "bus driver"] * 10
    quick().fit(texts, texts).save(tmp_path / "my model")
    head, body = read_card(tmp_path / "my model")
    assert head["pipeline_tag"] == "text-classification"
    assert "dsnc predict 'my model' texts.txt" in body


def test_names_are_not_in_the_model(saved, fitted, tmp_path):
    named = quick().fit(X, Y)
    named.data_["name"] = "secret.tsv"
    named.data_["validation"]["name"] = "secret too.tsv"
    named.save(tmp_path / "named")
    assert contents(tmp_path / "named") == contents(saved)
    assert "rows of secret too.tsv" in read_card(tmp_path / "named")[1]
    assert named.data_["name"] == "secret.tsv"


def test_an_edited_card_survives_a_new_model(saved, fitted):
    mine = (saved / "README.md").read_text() + "\nDo not use for cats.\n"
    (saved / "README.md").write_text(mine)
    assert dsnc.load(saved).n_bits == fitted.n_bits
    fitted.save(saved, overwrite=True)
    assert (saved / "README.md").read_text() == mine


# Figures and history


def test_figures_are_of_the_decoder_that_predicts(tmp_path):
    rows, labels = many_classes.X[::7], many_classes.Y[::7]
    fitted = many_classes.quick(decoder="linear", max_epochs=2)
    fitted.fit(many_classes.X, many_classes.Y, validation=(rows, labels))
    for decoder in ("linear", "soft", "shortlist", "nearest"):
        other = fitted.with_decoder(decoder)
        assert other.figures_["validation_accuracy"] == other.score(rows, labels)
        other.save(tmp_path / decoder)
        metrics = header_of(tmp_path / decoder)["metrics"]
        assert metrics["validation_accuracy"] == other.figures_["validation_accuracy"]
        assert metrics["best_epoch_accuracy"] == fitted.history_.best_accuracy
    assert fitted.figures_["validation_accuracy"] == pytest.approx(fitted.history_.best_accuracy)


def test_figures_do_not_outlive_their_decoder(tmp_path):
    model = quick().fit(X, Y)
    model.keep_test_figures({"accuracy": 1.0})
    assert set(model.figures_) == {"validation_accuracy", "test"}
    for figure in ("high", math.nan, None):
        with pytest.raises(dsnc.errors.InputError, match="figures: accuracy="):
            model.keep_test_figures({"accuracy": figure})
    assert pickle.loads(pickle.dumps(model)).figures_ == model.figures_
    model.save(tmp_path / "m")
    loaded = dsnc.load(tmp_path / "m")
    assert loaded.figures_ == model.figures_
    assert loaded.with_decoder("linear").figures_ == {}  # nobody has the rows any more
    assert "test" not in model.with_decoder("linear").figures_
    assert model.partial_fit(X, Y).figures_ == {}
    assert set(model.fit(X, Y).figures_) == {"validation_accuracy"}


def test_the_history_comes_back_without_times(saved, fitted):
    loaded = dsnc.load(saved).history_
    assert (loaded.stopped, loaded.best_epoch) == ("max_epochs reached", fitted.history_.best_epoch)
    for name in ("epoch", "rows", "loss", "learning_rate", "validation_accuracy"):
        assert loaded.column(name) == fitted.history_.column(name)
    assert all(map(math.isnan, loaded.column("seconds")))
    assert "seconds" not in (saved / "model.json").read_text()


def test_a_loss_that_is_no_number_is_null(tmp_path):
    model = quick().fit(X, Y)
    model.history_.epochs[1] = type(model.history_.epochs[1])(2, 3, math.nan, 0, 0, 1, 0.1, 0.2)
    model.save(tmp_path / "m")
    assert header_of(tmp_path / "m")["history"][1]["loss"] is None
    assert math.isnan(dsnc.load(tmp_path / "m").history_.epochs[1].loss)


def test_fingerprints_tell_data_apart(fitted):
    held = (X[:9], Y[:9])
    one = quick().fit(X, Y, validation=held).data_["validation"]
    other = quick().fit(X, Y, validation=(X[1:10], Y[1:10])).data_["validation"]
    assert one["rows"] == other["rows"] == 9
    assert one["fingerprint"] != other["fingerprint"]
    drawn = fitted.data_["validation"]  # from X, whose fingerprint there is
    assert drawn == {"rows": 6, "never_held_out": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": {"test": []}}, "metrics: test is of type list"),
        ({"metrics": {"test": {"accuracy": "1"}}}, "test: 'accuracy' is of type str"),
        ({"metrics": {"stopped": 3}}, "metrics: stopped is of type int"),
        ({"metrics": {"best_epoch_accuracy": "1"}}, "best_epoch_accuracy is of type str"),
        ({"history": [3]}, "history: epoch 1 does not have the keys"),
        ({"history": [{"epoch": 1}]}, "does not have the keys epoch, rows, loss"),
    ],
)
def test_forged_figures_are_refused(saved, change, message):
    header = header_of(saved)
    for key, value in change.items():
        header[key] = {**header[key], **value} if isinstance(value, dict) else value
    (saved / "model.json").write_text(json.dumps(header))
    with pytest.raises(dsnc.errors.ModelFileError, match=message):
        dsnc.load(saved)


def test_a_forged_epoch_is_refused(saved):
    header = header_of(saved)
    for value in ("1", [], True, {}):
        header["history"][0]["loss"] = value
        (saved / "model.json").write_text(json.dumps(header))
        with pytest.raises(dsnc.errors.ModelFileError, match="epoch 1: loss is of type"):
            dsnc.load(saved)
    header["history"][0] = {**header["history"][1], "more": 1}
    (saved / "model.json").write_text(json.dumps(header))
    with pytest.raises(dsnc.errors.ModelFileError, match="epoch 1 does not have"):
        dsnc.load(saved)
