"""The faults that are tried every night still have a place in the source."""

import pytest

from mutants.run import ROOT, SOURCE, faults, text_with


def test_each_has_a_name_of_its_own():
    ids = [fault["id"] for fault in faults()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault["id"])
def test_its_place_is_found_once_and_its_tests_are_there(fault):
    text = (SOURCE / fault["file"]).read_text(encoding="utf-8")
    assert text_with(fault, text) != text
    for test in fault["tests"]:
        assert (ROOT / test).exists()
