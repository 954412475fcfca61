"""How long and how fast to learn where nobody says so: what was best on several data sets."""

import math
from typing import NamedTuple

from dsnc.training.settings import RunSettings

N_NEAREST, N_UNIFORM = 32, 32  # classes that are scored beside a row's own
WINDOW = 128  # blocks of 512 classes in which the nearest are looked for
FEW = 4096  # classes that are looked through so fast that no row need remember its nearest
MOST_KEPT = 1 << 24  # nearest classes of all rows that are kept from one epoch to the next
BATCH = 16  # rows between two moves of the weights
FADING = 0.9999  # of sums of squared gradients
ALONE_UNIFORM, ALONE_FADING = 128, 0.999  # the same, where each class is decided alone
BIAS_RATE = 0.3  # as a share of that of class vectors
LEFT_OUT = 0.2  # of the features of sparse rows, others at each step
LENGTH = 15.0  # sum of a dense row's absolute values

_RATE = 2.0  # of the encoder, by the root of the number of bits
_CLASS_RATE = 1.2  # as a share of that
_FEW_STEPS, _MANY_STEPS = 250_000, 3_000_000  # rows to pass, at least and at most
_EPOCHS = (5, 20, 100)  # of very many rows, of most, and of very few
_LONGER = 2  # rows that are dense take more epochs: there is less to learn by heart
_SEARCHED = 5  # first epochs in which the nearest classes of all rows are looked for;
_AGAIN = 2  # then only every second time, for class codes hardly change any more
_FIRST, _LAST = 0.2, 0.02  # rates as a share of the peak
_RISE = 0.2  # share of the epochs in which rates rise, but one epoch at most


class Rates(NamedTuple):
    """The rates of encoder and class vectors."""

    encoder: float
    classes: float


def peak_rates(settings: RunSettings, n_epochs: int | None = None) -> Rates:
    """Return the highest rates; `learning_rate` is that of the encoder.

    Where `epochs_for` has chosen fewer epochs than usual, rates are higher.
    """
    if not isinstance(settings.learning_rate, str):
        rate = float(settings.learning_rate)
    else:
        usual, auto = _EPOCHS[1], isinstance(settings.max_epochs, str)
        fewer = usual / min(usual, n_epochs) if n_epochs and auto else 1
        rate = _RATE * math.sqrt(fewer) / math.sqrt(settings.n_bits)
    return Rates(rate, rate * _CLASS_RATE)


def epochs_for(settings: RunSettings, n_rows: int, *, sparse: bool) -> int:
    """Return how often to pass over so many rows."""
    if not isinstance(settings.max_epochs, str):
        return int(settings.max_epochs)
    least, usual, most = _EPOCHS
    longer = 1 if sparse else _LONGER
    epochs = min(usual, max(least, _MANY_STEPS // n_rows))
    return min(most, longer * max(epochs, -(-_FEW_STEPS // n_rows)))


def searches(epoch: int) -> bool:
    """Tell whether an epoch looks for the nearest classes, or takes those of the one before."""
    return epoch < _SEARCHED or (epoch - _SEARCHED) % _AGAIN == _AGAIN - 1


def share_of_peak(epoch: float, n_epochs: int, schedule: str) -> float:
    """Return the rate after so many epochs: it rises soon, and then falls to nearly nothing."""
    if schedule == "constant":
        return 1.0
    rise = min(1.0, _RISE * n_epochs)
    if epoch < rise:
        return _FIRST + (1 - _FIRST) * epoch / rise
    return max(_LAST, 1 - (epoch - rise) / (n_epochs - rise))
