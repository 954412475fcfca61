import numpy as np
import pytest

from dsnc.data import Split, load_dataset
from dsnc.features import TextFeatures
from dsnc.selection.texts import with_better_texts


def parts(tmp_path, rows):
    lines = "".join(f"{label},{one},{two}\n" for label, one, two in rows)
    (tmp_path / "a.csv").write_text("label,one,two\n" + lines)
    data = load_dataset(tmp_path / "a.csv", text_column=["one", "two"], separate_texts=True)
    return Split(data, data.take(slice(0, 5)), data.take(slice(0)))


def test_fields_have_ngrams_of_their_own():
    features, together = (TextFeatures(min_rows=1, characters=(2, 5)) for _ in range(2))
    features.fit(["ab cd\x1fab", "ab\x1fcd"])
    together.fit(["ab cd ab", "ab cd"])
    assert features.n_features_ > together.n_features_
    one, other = features.transform(["ab\x1fcd", "cd\x1fab"])
    assert one.multiply(other).sum() == 0
    no_border = TextFeatures(min_rows=1, words=(2, 2), characters=None).fit(["a b", "c d"])
    assert no_border.transform(["a\x1fb"]).nnz == 0


def test_where_words_mean_something_else_in_another_column_they_stay_apart(tmp_path):
    rng, words = np.random.default_rng(0), ["red", "blue", "green"]
    pairs = [(a, b) for a in words for b in words if a != b] * 40

    def among_others(word):  # so that its neighbors do not tell where it stands
        return f"f{rng.integers(30)} {word} f{rng.integers(30)}"

    rows = [(f"{a} on {b}", among_others(a), among_others(b)) for a, b in pairs]
    kept = with_better_texts(parts(tmp_path, rows))
    assert kept.train.columns.separate and "\x1f" in kept.train.X[0]


def test_where_columns_share_their_words_they_are_joined(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(60)]
    rows = []
    for i in range(240):
        own = rng.choice(words[(i % 6) * 10 :][:10], 4, replace=False)
        rows.append((f"c{i % 6}", *(" ".join(p) for p in (own[:2], own[2:]))))
    joined = with_better_texts(parts(tmp_path, rows))
    for part in joined:
        assert not part.columns.separate and not any("\x1f" in text for text in part.X)


@pytest.mark.parametrize("n", [1, 2])
def test_a_few_rows_are_joined(tmp_path, n):
    few = with_better_texts(parts(tmp_path, [("a", "x y", "z"), ("b", "u v", "w")][:n]))
    assert not few.train.columns.separate
