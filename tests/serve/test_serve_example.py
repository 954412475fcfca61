"""The client of the examples works."""

import runpy


def test_the_client(service, texts, repository, capsys):
    client = runpy.run_path(str(repository / "examples" / "serve" / "client.py"))
    client["main"](f"http://127.0.0.1:{service.port}/models/texts", "a nurse", "tram driver")
    lines = capsys.readouterr().out.splitlines()
    best = texts.predict(["a nurse", "tram driver"]).tolist()
    assert [line.split("\t")[1].rpartition(" (")[0] for line in lines] == best
