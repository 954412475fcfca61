"""The script by which the documentation is searched where its pages are opened from the disk."""

PAGE = """<!doctype html><title>docs</title><link rel="icon" href="data:,"><body>
<script src="{script}"></script>
<script>
const worker = new Worker("worker.js");
window.heard = [];
worker.addEventListener("message", (answer) => heard.push(answer.data));
worker.postMessage({{ words: ["night", "nurse"] }});
worker.postMessage({{ words: [] }});
</script>"""
WORKER = 'addEventListener("message", (asked) => postMessage(asked.data.words.length));'


def test_a_worker_answers_in_its_place(browser, repository, tmp_path):
    script = (repository / "docs/offline_search.js").as_uri()
    (tmp_path / "page.html").write_text(PAGE.format(script=script))
    (tmp_path / "worker.js").write_text(WORKER)
    browser.open((tmp_path / "page.html").as_uri())
    browser.wait("heard.length === 2")
    assert browser.js("heard") == [2, 0]
