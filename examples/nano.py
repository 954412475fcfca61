"""The whole idea in numpy: read this first.

    x  ->  logits  ->  a random code, bit i is 1 with probability sigmoid(logit i)  ->  its class

An encoder and a decoder learn together that the codes of a class can be decoded. The answer for a
new row takes its most probable code, and one of three ways from a code to a class. `dsnc` does the
same, faster, with many more classes, and on files and models of any kind; a test holds both to the
same numbers. Run it with:  python examples/nano.py
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Model(NamedTuple):
    """A linear encoder, and the vector and bias of each class."""

    encoder: Array  # (features, bits)
    encoder_bias: Array  # (bits,)
    classes: Array  # (classes, bits)
    class_bias: Array  # (classes,)


def sigmoid(logits: Array) -> Array:
    """Return probabilities."""
    return 1 / (1 + np.exp(-logits))


def encode(model: Model, X: Array) -> Array:
    """Return the logits of the bits, (rows, bits)."""
    return X @ model.encoder + model.encoder_bias


def most_probable(logits: Array) -> NDArray[np.bool_]:
    """Return the code that is drawn most often: of each bit, the more probable value."""
    return logits > 0


def draw(logits: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a code for each row: every bit is a Bernoulli variable of its own."""
    return rng.random(logits.shape) < sigmoid(logits)


# --- What training minimizes: the loss of a drawn code, on average over all that may be drawn ---


def class_logits(model: Model, code: Array) -> Array:
    """Return the logit of each class, (rows, classes), for codes of 0 and 1 or between."""
    return code @ model.classes.T + model.class_bias


def softmax_loss(model: Model, code: Array, y: NDArray[np.int_]) -> tuple[Array, Array]:
    """Return the loss of each row, and its derivative by the logits of the classes."""
    logits = class_logits(model, code)
    logits = logits - logits.max(axis=1, keepdims=True)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    losses = -np.log(shares[rows, y])
    shares[rows, y] -= 1
    return losses, shares


def straight_through(
    model: Model, logits: Array, y: NDArray[np.int_], code: Array
) -> tuple[Array, Array]:
    """Return the gradient by the logits, and by the logits of the classes.

    The code was drawn, which has no derivative: pretend that it was the probability itself.
    """
    _, error = softmax_loss(model, code, y)
    by_code = error @ model.classes
    phi = sigmoid(logits)
    return by_code * phi * (1 - phi), error


def reinforce(model: Model, logits: Array, y: NDArray[np.int_], code: Array) -> tuple[Array, Array]:
    """Return the same, by the rule that is right on average: the loss times d log P(code).

    It looks at no derivative of the loss by the code, and is noisy: average many draws.
    """
    losses, error = softmax_loss(model, code, y)
    return losses[:, None] * (code - sigmoid(logits)), error


def regularizer(phi: Array, y: NDArray[np.int_]) -> tuple[float, float]:
    """Return the mean of |phi - phi'|^2 over pairs of one class, and of different classes.

    Training adds beta times the first and subtracts gamma times the second: the codes of a class
    move together, those of different classes apart.
    """
    distances = ((phi[:, None] - phi[None]) ** 2).sum(axis=2)
    same = y[:, None] == y[None]
    return float(distances[same].mean()), float(distances[~same].mean())


def train(
    X: Array,
    y: NDArray[np.int_],
    n_classes: int,
    *,
    n_bits: int = 32,
    epochs: int = 30,
    rate: float = 0.3,
    batch: int = 32,
    seed: int = 0,
) -> Model:
    """Learn by straight-through; steps are those of AdaGrad."""
    rng = np.random.default_rng(seed)
    encoder = rng.normal(size=(X.shape[1], n_bits)) / np.sqrt(X.shape[1])
    classes = rng.normal(size=(n_classes, n_bits)) / np.sqrt(n_bits)
    model = Model(encoder, np.zeros(n_bits), classes, np.zeros(n_classes))
    squares = [np.full_like(part, 1e-8) for part in model]
    for _ in range(epochs):
        order = rng.permutation(len(X))
        for start in range(0, len(X), batch):
            rows = order[start : start + batch]
            logits = encode(model, X[rows])
            code = draw(logits, rng).astype(float)
            by_logit, error = straight_through(model, logits, y[rows], code)
            gradients = (X[rows].T @ by_logit, by_logit.sum(0), error.T @ code, error.sum(0))
            for part, square, gradient in zip(model, squares, gradients, strict=True):
                square += (gradient / len(rows)) ** 2
                part -= rate * gradient / len(rows) / np.sqrt(square)
    return model


# --- Three ways from a code to its class ---


def decode_linear(model: Model, code: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Return the class of the largest logit: bits times classes operations a row."""
    return class_logits(model, code.astype(float)).argmax(axis=1)


def decode_nearest(
    known: NDArray[np.bool_], y: NDArray[np.int_], code: NDArray[np.bool_]
) -> NDArray[np.int_]:
    """Return the class of the nearest known code, the first of several that are as near.

    This looks at all of them. A `dsnc.codes.HammingIndex` finds the same one without.
    """
    distances = (code[:, None] != known[None]).sum(axis=2)
    return y[distances.argmin(axis=1)]


def number(code: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Return each code as a number; bit 0 counts least."""
    return code @ (1 << np.arange(code.shape[1]))


def make_table(model: Model) -> NDArray[np.int_]:
    """Return the class of each of the 2^bits codes, by its number: then a row takes one look."""
    n_bits = model.classes.shape[1]
    every_code = np.arange(1 << n_bits)[:, None] >> np.arange(n_bits) & 1 == 1
    return decode_linear(model, every_code)


def decode_table(table: NDArray[np.int_], code: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Return what the table says: one look a row, however many classes there are."""
    return table[number(code)]


def main(n_classes: int = 100, n_bits: int = 12) -> dict[str, float]:
    """Learn a made-up problem; return the share of right answers of each decoder."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(n_classes, 20))
    y = np.repeat(np.arange(n_classes), 30)
    X = centers[y] + 0.5 * rng.normal(size=(len(y), 20))
    is_test = np.arange(len(y)) % 3 == 0
    X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]

    model = train(X_train, y_train, n_classes, n_bits=n_bits)
    known = most_probable(encode(model, X_train))
    code = most_probable(encode(model, X_test))
    answers = {
        "linear": decode_linear(model, code),
        "nearest": decode_nearest(known, y_train, code),
        "table": decode_table(make_table(model), code),
    }
    within, between = regularizer(code.astype(float), y_test)
    print(f"{n_classes} classes in {n_bits} bits, of which {within:.1f} differ within a class")
    print(f"and {between:.1f} between classes")
    right = {name: float((answer == y_test).mean()) for name, answer in answers.items()}
    for name, share in right.items():
        print(f"{name:8} {share:.1%} right")
    return right


if __name__ == "__main__":
    main()
