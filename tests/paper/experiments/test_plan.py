from dataclasses import replace

import pytest

from dsnc.errors import InputError
from dsnc.paper.experiments import PRESETS, Plan, Source
from dsnc.paper.experiments.prepare import prepare


def count(plan, tiny, **options):
    (source,) = plan.sources(tiny)
    return len(list(plan.definitions(source, **options)))


def test_the_paper_runs_everything(tiny):
    plan = PRESETS["paper"]
    sizes, seeds = 6, len(plan.seeds)
    # Five methods with a code size, one without, and one without a seed, under two recipes.
    assert count(plan, tiny) == 2 * (sizes * seeds * 5 + seeds + 1)


def test_a_quick_look_is_a_row_of_the_papers_table(tiny):
    quick = PRESETS["quick"]
    assert quick.select and not quick.settings and quick.recipes == ("paper",)
    assert count(quick, tiny) == len(quick.methods)


def test_methods_and_decoders_are_chosen(tiny):
    plan = Plan(bits=(8, 16), seeds=(3, 4))
    (source,) = plan.sources(tiny)
    kept = list(plan.definitions(source, ["dsnc"], keep_decoders=True))
    assert {d.method for d in kept} == {"dsnc"}
    assert {(d.seed, d.keep_decoders) for d in kept} == {(3, True), (4, False)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": ()}, "bits is empty"),
        ({"bits": (0,)}, "bits=0 must be 1 or more"),
        ({"methods": ("dsn",)}, "methods='dsn' is not known. Did you mean 'dsnc'"),
        ({"recipes": ("papr",)}, "recipes='papr' is not known. Did you mean 'paper'"),
        ({"settings": {"learning_rat": 1}}, "settings='learning_rat'.*mean 'learning_rate'"),
        ({"settings": {"n_bits": 3}}, "settings='n_bits' is not known"),
        ({"settings": {"weighting": "idf"}}, "weighting='idf' is not known. Did you mean 'tfidf'"),
    ],
)
def test_a_wrong_plan_is_refused(tiny, change, message):
    plan = replace(Plan(), **change)
    with pytest.raises(InputError, match=message):
        count(plan, tiny)


def test_an_unknown_set_of_the_paper_is_refused(tiny):
    with pytest.raises(InputError, match="Did you mean 'DMOZ-1K'"):
        Plan().sources(tiny, "DMOZ-1k")


def test_a_subset_of_classes_has_a_name_of_its_own(tiny):
    whole, some = prepare(Source(path=tiny)), prepare(Source(path=tiny, n_classes=5))
    assert (whole.name, some.name) == ("tiny", "tiny-5")
    assert some.parts.train.n_classes == 5 and whole.fingerprint != some.fingerprint
    assert [len(part) for part in whole.parts] == [240, 30, 30]


def test_the_fingerprint_follows_the_content(tmp_path):
    def fingerprint(first):
        path = tmp_path / f"{first}.svm"
        rows = [f"{k % 3} 1:{first if k == 0 else k + 1} 2:1" for k in range(40)]
        path.write_text("\n".join(rows) + "\n")
        return prepare(Source(path=str(path))).fingerprint

    assert len({fingerprint(0.5), fingerprint(0.25)}) == 2
    prepare.cache_clear()
    assert fingerprint(0.5) == fingerprint(0.5)


def test_counts_are_weighed_and_texts_are_read(tmp_path):
    lines = [f"{k % 3}\tword{k % 3} word{k % 7} word" for k in range(60)]
    path = tmp_path / "titles.tsv"
    path.write_text("\n".join(lines) + "\n")
    text = prepare(Source(path=str(path)))
    assert text.parts.train.is_sparse and text.about()["classes"] == ["0", "1", "2"]
    svm = tmp_path / "counts.svm"
    svm.write_text("\n".join(f"{k % 3} {1 + k % 3}:2 {4 + k % 5}:1" for k in range(60)) + "\n")
    rows = prepare(Source(path=str(svm))).parts.train.X
    assert abs((rows.multiply(rows)).sum(axis=1) - 1).max() < 1e-6
