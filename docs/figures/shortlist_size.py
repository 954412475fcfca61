"""Accuracy against the length of the shortlist, and how honest its probabilities are.

Run it with:  python docs/figures/shortlist_size.py DATA... [--bits 24 64]

For each data set (a folder, a file, or a name of the catalog) it trains a model of each number of
bits and writes ``docs/images/shortlist-DATA.png``: at the left the accuracy on the test rows for
lists of 1 to 256 classes, beside the decoders that need no list; at the right the reliability.
"""

import argparse
from pathlib import Path

from matplotlib.figure import Figure

from dsnc import DSNCClassifier
from dsnc.metrics import calibration_bins
from dsnc.paper.experiments import Source
from dsnc.paper.experiments.prepare import Prepared, prepare
from dsnc.pictures.drawing import COLORS, FAINT, look, save

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OTHERS = {"soft": "-.", "linear": "--", "nearest": ":"}
IMAGES = Path(__file__).parents[1] / "images"


def draw(prepared: Prepared, bits: list[int]) -> Figure:
    """Train a model of each number of bits and draw both panels."""
    train, validation, test = prepared.parts
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    lengths, honesty = figure.subplots(1, 2, width_ratios=(1.5, 1))
    honesty.plot([0, 1], [0, 1], color=FAINT, linestyle="--", linewidth=1)
    for n_bits, color in zip(bits, COLORS.values(), strict=False):
        model = DSNCClassifier(n_bits=n_bits, reranker=None, random_state=0)
        model.fit(train.X, train.y, validation=(validation.X, validation.y))
        sizes = [size for size in SIZES if size <= train.n_classes]
        lists = [model.with_decoder({"name": "shortlist", "size": s}) for s in sizes]
        shares = [100 * shortlist.score(test.X, test.y) for shortlist in lists]
        lengths.plot(sizes, shares, color=color, marker="o", label=f"{n_bits} bits")
        for name, style in OTHERS.items():
            share = 100 * model.with_decoder(name).score(test.X, test.y)
            lengths.axhline(share, color=color, linestyle=style, linewidth=1, alpha=0.7)
            print(f"{prepared.name} {n_bits} bits, {name}: {share:.2f}")
        print(f"{prepared.name} {n_bits} bits, {model.decoder_report_}")
        print(*(f"{size}: {share:.2f}" for size, share in zip(sizes, shares, strict=True)))
        classes, probabilities = model.predict_top_k(test.X, k=1)
        bins = calibration_bins(classes[:, 0] == test.y, probabilities[:, 0].clip(max=1))
        used = bins.counts > 0
        honesty.plot(bins.confidence[used], bins.accuracy[used], color=color, marker="o")
    lengths.set_xscale("log", base=2)
    lengths.set_xticks(SIZES, [str(size) for size in SIZES])
    lengths.set(xlabel="length of the shortlist", ylabel="test accuracy, %", title=prepared.name)
    for name, style in OTHERS.items():
        lengths.plot([], [], color=FAINT, linestyle=style, label=f"{name} decoder")
    lengths.legend(loc="lower right")
    honesty.set(xlabel="probability of the best class", ylabel="share that is right")
    honesty.set_title("reliability")
    return figure


def main() -> None:
    """Read the command line and write a picture for each data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="+")
    parser.add_argument("--bits", nargs="+", type=int, default=[24, 64])
    arguments = parser.parse_args()
    for path in arguments.data:
        prepared = prepare(Source(path=path))
        with look("shortlist_size.py"):
            figure = draw(prepared, arguments.bits)
            print(save(figure, IMAGES / f"shortlist-{prepared.name}.png"))


if __name__ == "__main__":
    main()
