import numpy as np
import pytest

from dsnc.fast.recipe import epochs_for, peak_rates, share_of_peak
from dsnc.training.settings import Settings

MANY = (1, 100, 2500, 12_500, 60_000, 200_000, 500_000, 10**6, 10**8)


@pytest.mark.parametrize("sparse", [True, False])
def test_fewer_rows_are_passed_more_often(sparse):
    epochs = [epochs_for(Settings(), n, sparse=sparse) for n in MANY]
    assert epochs == sorted(epochs, reverse=True)
    assert epochs[0] == 100
    assert epochs[-1] == (5 if sparse else 10)
    assert epochs[4] == (20 if sparse else 40)


def test_dense_rows_are_passed_twice_as_often_but_never_more_than_a_hundred_times():
    for n in MANY:
        sparse, dense = (epochs_for(Settings(), n, sparse=s) for s in (True, False))
        assert dense == min(2 * sparse, 100)


@pytest.mark.parametrize("given", [1, 7, np.int64(300)])
def test_given_epochs_are_taken(given):
    epochs = epochs_for(Settings(max_epochs=given), 10, sparse=True)
    assert (epochs, type(epochs)) == (given, int)


@pytest.mark.parametrize("n_epochs", [1, 2, 3, 5, 20, 100])
def test_rates_rise_soon_and_then_fall(n_epochs):
    places = np.linspace(0, n_epochs, 1001)
    shares = [share_of_peak(place, n_epochs, "one_cycle") for place in places]
    peak = int(np.argmax(shares))
    assert shares[0] == pytest.approx(0.2) and shares[-1] == pytest.approx(0.02)
    assert max(shares) == pytest.approx(1, abs=0.02)
    assert places[peak] == pytest.approx(min(1, 0.2 * n_epochs), abs=0.002 * n_epochs)
    assert (np.diff(shares[: peak + 1]) > 0).all() and (np.diff(shares[peak:]) <= 0).all()


def test_a_constant_rate_is_the_peak():
    assert {share_of_peak(place, 3, "constant") for place in (0, 0.5, 1, 3)} == {1}


def test_the_rate_of_the_encoder_may_be_given():
    assert peak_rates(Settings(learning_rate=0.1)) == pytest.approx((0.1, 0.12))
    short, long = (peak_rates(Settings(n_bits=n_bits)) for n_bits in (16, 64))
    assert short.encoder == pytest.approx(2 * long.encoder)
    assert short.classes / short.encoder == pytest.approx(1.2)


def test_fewer_epochs_than_usual_have_higher_rates():
    rates = [peak_rates(Settings(), n).encoder for n in (None, 100, 20, 10, 5)]
    assert np.divide(rates, rates[0]) == pytest.approx([1, 1, 1, 2**0.5, 2])


def test_rates_do_not_change_with_what_was_given():
    assert peak_rates(Settings(max_epochs=5), 5) == peak_rates(Settings())
    assert peak_rates(Settings(learning_rate=0.1), 5).encoder == 0.1
