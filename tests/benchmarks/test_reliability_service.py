"""The campaign against a service: whatever a request costs is seen, and told apart from noise."""

from pathlib import Path

import pytest

from reliability.hostile import HOSTILE
from reliability.service import Cost, campaign

FINE = Cost("200", 1000, 0.05, 0, 50.0)
NAMES = ("called by another name", "a path out of the folder", "a number of a million digits")


def test_every_request_has_a_name_of_its_own():
    assert len({each.name for each in HOSTILE}) == len(HOSTILE) > 80


@pytest.mark.parametrize(
    ("cost", "trouble"),
    [
        (FINE, ""),
        (FINE._replace(answer="500"), "answered 500, and not 200 or 413"),
        (FINE._replace(answer="200, and a traceback in the log"), "answered 200, and a traceback"),
        (FINE._replace(seconds=0.3), "/health took 0.30 s"),
        (FINE._replace(wrong=2), "failed 2 times"),
        (FINE._replace(megabytes=201.0), "took 201 MB"),
    ],
)
def test_what_a_request_may_cost(cost, trouble):
    assert cost.trouble((200, 413)).startswith(trouble) or trouble in cost.trouble((200, 413))
    assert bool(cost.trouble((200, 413))) == bool(trouble)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_requests_are_sent_to_a_real_service(tmp_path):
    some = [each for each in HOSTILE if each.name in NAMES or each.name == "label 2^63"]
    wrong = some[0]._replace(name="wrong", expected=(418,))
    rows = {row["what"]: row for row in campaign(tmp_path, hostile=[*some, wrong])}
    assert {name: row["failed"] for name, row in rows.items()} == {
        **{each.name: 0 for each in some},
        "wrong": 1,
    }
    assert rows["wrong"]["trouble"].endswith("and not 418")
    assert rows["a number of a million digits"]["sent kB"] > 1000
    assert all(row["MB"] < 200 for row in rows.values())
