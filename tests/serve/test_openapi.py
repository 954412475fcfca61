"""The description names every address, and all that it refers to is there."""

import json
import re
import subprocess
import sys
from pathlib import Path

from dsnc.serve.app import Service
from dsnc.serve.log import Log
from dsnc.serve.settings import ServeSettings


def test_every_address_is_described(service, tmp_path):
    described = json.loads(service.get("/openapi.json"))
    routes = Service(ServeSettings(models={"m": tmp_path}), Log(), None).routes()
    addresses = {(route.path, m.lower()) for route in routes for m in route.methods - {"HEAD"}}
    paths = described["paths"].items()
    assert {(path, m) for path, item in paths for m in item} == addresses
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(described)):
        place = described
        for name in reference.split("/"):
            place = place[name]
    for path, item in paths:
        for operation in item.values():
            parameters = operation.get("parameters", [])
            named = {one["name"] for one in parameters if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            models = [one["schema"]["enum"] for one in parameters if one["name"] == "name"]
            assert models == [["texts", "vectors"]] * ("name" in named)


def test_an_answer_has_what_the_description_says(service):
    described = json.loads(service.get("/openapi.json"))["components"]["schemas"]["Answer"]
    wishes = {"probabilities": True, "reject_below": 0.5, "explain": 3}
    answer = service.predict({"inputs": ["a nurse"], **wishes}, "/models/texts/predict")
    assert set(answer) == set(described["properties"])


def test_torch_is_never_loaded(service):
    service.predict({"inputs": ["a nurse"], "explain": True}, "/models/texts/predict")
    assert "torch" not in Path(f"/proc/{service.process.pid}/maps").read_text()
    code = "import dsnc.serve.app, sys; assert not {'torch', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
