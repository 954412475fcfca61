"""The short examples run as they are, on less data."""

import runpy

import pytest


@pytest.fixture
def example(repository):
    def run(name, **options):
        script = runpy.run_path(str(repository / "examples" / f"{name}.py"))
        return script["main"](**options)

    return run


def test_quick_start(example, monkeypatch, tmp_path, capsys):
    pytest.importorskip("PIL", reason="drawing characters needs the extra 'report'")
    monkeypatch.setenv("DSNC_HOME", str(tmp_path))
    assert example("quick_start", n_classes=40, max_epochs=5) > 0.5
    assert "test accuracy" in capsys.readouterr().out


def test_job_titles(example, capsys):
    assert example("job_titles") > 0.95
    assert "'welder'" in capsys.readouterr().out


def test_exchange_decoders(example, capsys):
    accuracies = example("exchange_decoders", n_classes=100)
    assert accuracies["shortlist"] > accuracies["linear"] > 0.3
    assert "auto chose" in capsys.readouterr().out


def test_own_gradient(example, capsys):
    accuracies = example("own_gradient")
    assert min(accuracies.values()) > 0.5
    assert "HardSigmoid(n_draws=4, width=4.0)" in capsys.readouterr().out


def test_nearest_codes(example, capsys):
    assert example("nearest_codes", n_codes=20_000) == 1000
    assert "exactly" in capsys.readouterr().out


def test_glyphs_new_classes(example, monkeypatch, tmp_path, capsys):
    pytest.importorskip("PIL", reason="drawing characters needs the extra 'report'")
    monkeypatch.setenv("DSNC_HOME", str(tmp_path))
    found = example("glyphs_new_classes", n_classes=60, n_new=10, n_per_class=20)
    assert min(found["old"], found["new"]) > 0.5
    assert found["sorted"] > 0.3
    assert "refused" in capsys.readouterr().out
