"""The choice of a decoder survives a model file, and a forged one is refused."""

import json
import math

import numpy as np
import pytest

import dsnc
from dsnc.errors import InputError, ModelFileError
from dsnc.selection.report import DecoderReport, Trial, plain_report, report_of

REPORT = DecoderReport(
    "shortlist",
    {"size": 16, "closeness": np.float32(0.5)},
    "because",
    [Trial("linear", {}, math.nan, 12.5), Trial("soft", {"known": "weights"}, 0.75, np.float64(3))],
)


def test_there_and_back():
    text = json.dumps(plain_report(REPORT), allow_nan=False)
    back = report_of(json.loads(text))
    assert (back.chosen, back.reason, back.settings) == ("shortlist", "because", REPORT.settings)
    assert math.isnan(back.trials[0].accuracy)
    assert back.trials[1] == REPORT.trials[1]
    assert json.dumps(plain_report(back)) == text


@pytest.mark.parametrize(
    "change",
    [
        lambda r: None,
        lambda r: [],
        lambda r: {**r, "more": 1},
        lambda r: {k: v for k, v in r.items() if k != "reason"},
        lambda r: {**r, "chosen": "../x"},
        lambda r: {**r, "chosen": 3},
        lambda r: {**r, "reason": "x" * 10_000},
        lambda r: {**r, "settings": {"size": [1]}},
        lambda r: {**r, "settings": {str(i): i for i in range(10_000)}},
        lambda r: {**r, "settings": {"x" * 10_000: 1}},
        lambda r: {**r, "settings": {"size": "x" * 10_000}},
        lambda r: {**r, "trials": [None]},
        lambda r: {**r, "trials": [{}]},
        lambda r: {**r, "trials": [r["trials"][0]] * 10_000},
        lambda r: {**r, "trials": [{**r["trials"][0], "accuracy": "1"}]},
        lambda r: {**r, "trials": [{**r["trials"][0], "nanoseconds": True}]},
    ],
)
def test_forged_reports_are_refused(change):
    with pytest.raises(InputError, match="decoder"):
        report_of(change(plain_report(REPORT)))


def test_a_model_file_holds_it(tmp_path):
    data = dsnc.data.make_dense_codes(n_rows=300, n_classes=10, n_features=6)
    model = dsnc.DSNCClassifier(n_bits=8, max_epochs=1, device="cpu").fit(data.X, data.labels)
    model.decoder_report_ = REPORT
    model.save(tmp_path / "m")
    loaded = dsnc.load(tmp_path / "m")
    assert str(loaded.decoder_report_) == str(REPORT)
    header = json.loads((tmp_path / "m" / "model.json").read_text())
    header["metrics"]["decoder"] = {"chosen": "linear"}
    (tmp_path / "m" / "model.json").write_text(json.dumps(header))
    with pytest.raises(ModelFileError, match="decoder does not have the keys"):
        dsnc.load(tmp_path / "m")
