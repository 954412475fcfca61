import runpy

from dsnc.data import load_glyphs


def test_a_perceptron_beats_the_centroid(repository, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("DSNC_HOME", str(tmp_path))
    script = runpy.run_path(str(repository / "examples" / "glyphs_accuracy.py"))
    assert load_glyphs(n_classes=100).n_classes == 100
    script["main"](n_classes=100, n_epochs=8)
    centroid, perceptron = (
        float(line.split()[-1].rstrip("%")) for line in capsys.readouterr().out.splitlines()
    )
    assert perceptron > centroid + 10
