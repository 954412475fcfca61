"""What a user asks for: a name, a name with settings, an instance."""

import numpy as np
import pytest

from dsnc.decoders import DECODERS, LinearDecoder, decoder_names, parse_decoder
from dsnc.errors import InputError


def test_names_are_auto_and_what_evidence_can_make():
    assert decoder_names() == ["auto", "linear", "soft", "nearest", "table", "shortlist"]


def test_parts_of_a_choice():
    for name in decoder_names():
        assert parse_decoder(name) == parse_decoder({"name": name})
        assert parse_decoder(name)[1:] == ({}, None)
        assert parse_decoder(name).name == name
        assert parse_decoder(name).kind is DECODERS.get(name)
    settings = {"known": "weights", "size": 2, "closeness": 0.5}
    assert parse_decoder({"name": "shortlist", **settings}).settings == settings


def test_an_instance_is_what_it_is():
    decoder = LinearDecoder(np.eye(3), np.zeros(3))
    assert parse_decoder(decoder, 3) == (LinearDecoder, {}, decoder)
    with pytest.raises(InputError, match="decoder has 3 bits, but n_bits=4"):
        parse_decoder(decoder, 4)


def test_codes_that_are_too_long_are_refused():
    parse_decoder("table", 28)
    with pytest.raises(InputError, match="'table' accepts at most 28 bits, but n_bits=29"):
        parse_decoder("table", 29)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("shortlst", "decoder='shortlst' is not known. Did you mean 'shortlist'"),
        ("Soft", "decoder='Soft' is not known. Did you mean 'soft'"),
        ("codebook", "decoder='codebook' is not known.*Valid: auto, linear, nearest"),
        (None, "decoder=None is not known"),
        (5, "decoder=5 is not known"),
        (["soft"], "decoder=.* is not known"),
        ({}, "decoder=None is not known"),
        ({"size": 5}, "decoder=None is not known"),
        ({"name": "tabel"}, "Did you mean 'table'"),
        (
            {"name": "shortlist", "flps": 5},
            "decoder='shortlist': setting='flps' is not known. Did you mean 'flips'",
        ),
        ({"name": "nearest", "neighbors": 5}, "Did you mean 'n_neighbors'"),
        (
            {"name": "table", "size": 5},
            "'size' is not known.*Valid: prior, probes, sharpness, source",
        ),
        ({"name": "soft", "size": 5}, "decoder='soft': setting='size' is not known"),
        ({"name": "auto", "size": 5}, "decoder='auto': setting='size' is not known"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(choice, message):
    with pytest.raises(InputError, match=message):
        parse_decoder(choice)
