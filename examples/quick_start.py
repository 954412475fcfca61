"""Train, predict, save, load: the whole life of a model in twenty lines.

Run it with:  python examples/quick_start.py
"""

import tempfile

import dsnc


def main(n_classes: int = 200, max_epochs: int = 10) -> float:
    """Learn to read characters; return the share of test rows that are read rightly."""
    data = dsnc.data.load_dataset("glyphs", n_classes=n_classes)
    train, validation, test = data.split(0.8, 0.1, 0.1, random_state=0)
    model = dsnc.DSNCClassifier(n_bits=32, max_epochs=max_epochs, random_state=0)
    model.fit(train.X, train.labels, validation=(validation.X, validation.labels))
    print(model.decoder_report_)

    labels, probabilities = model.predict_top_k(test.X[:3], k=3)
    for truth, row, shares in zip(test.labels[:3], labels, probabilities, strict=True):
        print(truth, "->", *(f"{a} {b:.0%}" for a, b in zip(row, shares, strict=True)))

    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")  # model.json + model.safetensors, no pickle
        loaded = dsnc.load(f"{folder}/model")  # needs no torch
    accuracy = float(loaded.score(test.X, test.labels))
    print(f"test accuracy {accuracy:.1%}")
    return accuracy


if __name__ == "__main__":
    main()
