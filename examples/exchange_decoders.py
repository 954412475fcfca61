"""One training, many decoders: what each is worth, and what it costs.

Run it with:  python examples/exchange_decoders.py
"""

import time

from dsnc import DSNCClassifier
from dsnc.data import make_dense_codes


def main(n_classes: int = 500) -> dict[str, float]:
    """Decode the same codes in five ways; return the accuracies."""
    data = make_dense_codes(
        n_rows=20 * n_classes, n_classes=n_classes, n_features=48, random_state=0
    )
    train, validation, test = data.split(0.8, 0.1, 0.1, random_state=0)
    model = DSNCClassifier(n_bits=20, max_epochs=12, random_state=0)
    model.fit(train.X, train.labels, validation=(validation.X, validation.labels))

    accuracies = {}
    for decoder in ("linear", "nearest", "table", "soft", "shortlist"):
        other = model.with_decoder(decoder)  # no training: the codes are the same
        other.predict(test.X)  # the first call makes the index
        start = time.perf_counter()
        accuracies[decoder] = float(other.score(test.X, test.labels))
        microseconds = 1e6 * (time.perf_counter() - start) / len(test)
        print(
            f"{decoder:10} {accuracies[decoder]:6.1%} {microseconds:6.1f} us a row, with encoding"
        )
    print(f"auto chose {model.decoder_report_.chosen}: {model.decoder_report_.reason}")
    return accuracies


if __name__ == "__main__":
    main()
