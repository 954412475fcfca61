"""What the page is made of and asks for: small, kept by ETag, and safe to show."""

import asyncio
import gzip
import json

import numpy as np
import pytest

from dsnc.codes import PackedCodes
from dsnc.inspection import class_codes
from dsnc.inspection.page import static_files
from dsnc.serve import explorer
from dsnc.serve.served import Served
from dsnc.serve.visits import Visit
from serving import Service

STATIC = [f"/static/{name}" for name in static_files() if name != "index.html"]


@pytest.mark.parametrize("path", ["/", *STATIC])
def test_files_of_the_page(service, path):
    status, headers, body = service.ask("GET", path)
    assert (status, headers["x-content-type-options"]) == (200, "nosniff")
    assert headers["cache-control"] == "private, no-cache"
    assert body == static_files()[path.rpartition("/")[2] or "index.html"]
    again = {"If-None-Match": headers["etag"]}
    status, kept, body = service.ask("GET", path, headers=again)
    assert (status, body) == (304, b"")
    # A browser takes these in place of what it has.
    assert kept["content-security-policy"] == headers["content-security-policy"]


def test_the_page_lets_nothing_in_from_elsewhere(service):
    _, headers, body = service.ask("GET", "/")
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert b"<style" not in body and b" style=" not in body and b"http" not in body


def test_facts_labels_codes_and_places(service, vectors):
    version = json.loads(service.get("/health"))["models"]["vectors"]
    facts = json.loads(service.get("/models/vectors/page/facts"))
    assert (facts["model"], facts["version"]) == ("vectors", version)
    assert (facts["takes"], facts["explains"], facts["no_codes"]) == ("numbers", True, None)
    assert len(facts["bit_facts"]) == facts["bits"]
    assert json.loads(service.get("/models/vectors/page/labels")) == vectors.classes_.tolist()
    words = np.frombuffer(service.get("/models/vectors/page/codes"), dtype="<u4")
    codes = class_codes(vectors)
    assert facts["bits"] <= 32
    assert PackedCodes(words.astype(np.uint64)[:, None], facts["bits"]) == codes
    places = np.frombuffer(service.get("/models/vectors/page/map"), dtype="<u2")
    assert len(places) == 2 * len(codes)


@pytest.mark.parametrize("what", ["facts", "labels", "codes", "map"])
def test_answers_are_kept_as_long_as_the_version_is(service, what):
    path = f"/models/texts/page/{what}"
    _, headers, _ = service.ask("GET", path)
    assert headers["etag"].startswith(f'"{headers["x-model-version"]}-')
    asked = {"If-None-Match": f'W/"other", {headers["etag"]}'}
    assert service.ask("GET", path, headers=asked)[0] == 304
    assert service.ask("GET", path, headers={"If-None-Match": '"other"'})[0] == 200


def test_answers_are_packed(service):
    _, headers, body = service.ask("GET", "/static/map.js", headers={"Accept-Encoding": "gzip"})
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(body) == static_files()["map.js"]


@pytest.mark.parametrize(
    "path", ["/static/none.js", "/static/", "/static/../app.py", "/models/texts/page/x"]
)
def test_other_files_are_not_there(service, path):
    assert service.ask("GET", path)[0] == 404


def test_a_map_that_takes_long_is_asked_for_again(texts, monkeypatch):
    monkeypatch.setattr(explorer, "_PATIENCE", 0.0)
    served = Served("texts", None, texts, "v1", ())

    async def ask():
        async def find(visit):
            return served

        some = explorer.Explorer(find, lambda work: asyncio.to_thread(work))
        visit = Visit({"headers": []}, None, None, 10)
        visit.params = {"part": "map"}
        first = await some.page_part(visit)
        for task in some._maps.values():
            await task
        return first, await some.page_part(visit)

    first, second = asyncio.run(ask())
    assert (first.status, first.body) == (202, b"")
    assert (b"retry-after", b"1") in first.headers
    assert (second.status, len(second.body)) == (200, 4 * len(texts.classes_))


def test_a_token_guards_data_and_not_the_page(folders, tmp_path):
    (tmp_path / "tokens").write_text("correct horse battery\n")
    service = Service(tmp_path, folders / "texts", "--token-file", tmp_path / "tokens")
    try:
        assert service.ask("GET", "/")[0] == 200
        assert service.ask("GET", "/static/main.js")[0] == 200
        for path in (
            "/models",
            "/models/texts/page/facts",
            "/models/texts/page/labels",
            "/staticx",
        ):
            assert service.ask("GET", path)[0] == 401
        given = {"Authorization": "Bearer correct horse battery"}
        assert service.ask("GET", "/models/texts/page/facts", headers=given)[0] == 200
    finally:
        service.stop()
