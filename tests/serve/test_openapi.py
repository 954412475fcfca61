"""The description names every address, and all that it refers to is there."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from dsnc.serve.app import Service
from dsnc.serve.log import Log
from dsnc.serve.settings import ServeSettings


def test_every_address_is_described(service, tmp_path):
    described = json.loads(service.get("/openapi.json"))
    routes = Service(ServeSettings(models={"m": tmp_path}), Log(), None).routes()
    addresses = {(route.path, m.lower()) for route in routes for m in route.methods - {"HEAD"}}
    paths = described["paths"].items()
    assert {(path, m) for path, item in paths for m in item if m != "parameters"} == addresses
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(described)):
        place = described
        for name in reference.split("/"):
            place = place[name]
    for path, item in paths:
        named = {one["name"] for one in item.get("parameters", [])}
        assert named == set(re.findall(r"{(\w+)}", path))


def test_its_example_works(service):
    described = json.loads(service.get("/openapi.json"))
    contents = described["paths"]["/predict"]["post"]["requestBody"]["content"]
    answer = service.predict(contents["application/json"]["example"], "/models/texts/predict")
    assert set(answer) == set(described["components"]["schemas"]["Answer"]["properties"]) - {
        "explanations"
    }


def test_the_page_is_whole_and_has_no_script(service):
    class Page(HTMLParser):
        open_tags, seen = [], set()

        def handle_starttag(self, tag, attrs):
            self.seen.add(tag)
            if tag != "meta":
                self.open_tags.append(tag)

        def handle_endtag(self, tag):
            assert self.open_tags.pop() == tag

    page = Page()
    text = service.get("/docs").decode()
    page.feed(text)
    assert page.open_tags == [] and not page.seen & {"script", "img", "link", "iframe"}
    for path in json.loads(service.get("/openapi.json"))["paths"]:
        assert path in text


def test_torch_is_never_loaded(service):
    service.predict({"inputs": ["a nurse"], "explain": True}, "/models/texts/predict")
    assert "torch" not in Path(f"/proc/{service.process.pid}/maps").read_text()
    code = "import dsnc.serve.app, sys; assert not {'torch', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
