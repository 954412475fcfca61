"""The page in a real browser: nothing is asked for, nothing complains, nothing sticks out."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from dsnc.paper.report import write_report
from report_records import write_runs

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.slow,  # each test starts a browser
    pytest.mark.skipif(BROWSER is None, reason="needs a browser: the package chromium"),
]
PHONE, DESK = 390, 1200
# A frame has any width; a window of a browser without a screen is at least 500 wide.
PROBE = """<!DOCTYPE html><body style="margin:0"><iframe id=f width={width} height=900
 style="border:0" srcdoc="{page}"></iframe><pre id=out></pre><script>
f.onload = () => {{
  const d = f.contentDocument, wide = d.documentElement.clientWidth;
  const sticks = [...d.body.querySelectorAll("*")].filter(e => !e.closest(".scroll, pre, svg *")
    && e.getBoundingClientRect().right > wide + 1).map(e => e.tagName + "." + e.className);
  out.textContent = JSON.stringify({{wide, scroll: d.scrollingElement.scrollWidth,
    sticks: sticks.slice(0, 9), text: d.body.innerText.length}});
}};</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    labels = ["a label that is much longer than the others, " * 4, "x" * 90, *"abcd"]
    methods = ("dsnc", "dsnc_reg", "mlp", "mlp_reg", "ecoc", "one_vs_rest", "nearest_centroid")
    write_runs(folder / "runs", methods, (8, 24), (0, 1), classes=labels, beside="DMOZ-1K")
    return write_report(folder / "runs", folder / "report.html")


def browse(address, folder, *options):
    """Run the browser, with a home of its own; return what it printed and what it logged."""
    command = [
        BROWSER,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--enable-logging=stderr",
        "--virtual-time-budget=10000",
        f"--user-data-dir={folder / 'home'}",
        *options,
        address.as_uri(),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return run.stdout, run.stderr


def visit(address, folder):
    """Return what a page asked for, and what it complained about."""
    log = folder / "net.json"
    _, said = browse(address, folder, f"--log-net-log={log}", "--dump-dom")
    lines = log.read_text(encoding="utf-8").splitlines()
    events = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"params":{')]
    # The browser asks for things of its own; what a page wants is kept under the page's origin.
    asked = {
        event["params"]["url"]
        for event in events
        if event["params"].get("network_isolation_key", "").startswith("file:")
    }
    return asked, [line for line in said.splitlines() if ":CONSOLE" in line]


def without_policy(page):
    """Return the text of a page that no longer forbids itself scripts and requests."""
    text = page.read_text(encoding="utf-8")
    found = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert found != text
    return found


def test_it_loads_without_requests_or_complaints(page, tmp_path):
    assert visit(page, tmp_path) == (set(), [])


def test_requests_and_complaints_would_be_seen(page, tmp_path):
    other = tmp_path / "other.html"
    evil = '<img src="http://127.0.0.1:9/x.png"><script>console.error("bad")</script>'
    other.write_text(without_policy(page).replace("</main>", f"{evil}</main>"), encoding="utf-8")
    asked, complaints = visit(other, tmp_path)
    assert asked == {"http://127.0.0.1:9/x.png"} and "bad" in complaints[0]
    # The page's own policy is what stops both.
    kept = page.read_text(encoding="utf-8").replace("</main>", f"{evil}</main>")
    other.write_text(kept, encoding="utf-8")
    asked, complaints = visit(other, tmp_path)
    assert asked == set() and all("Content Security Policy" in line for line in complaints)


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_sticks_out(page, tmp_path, width):
    frame = tmp_path / "frame.html"
    escaped = without_policy(page).replace("&", "&amp;").replace('"', "&quot;")
    frame.write_text(PROBE.format(width=width, page=escaped), encoding="utf-8")
    printed, _ = browse(frame, tmp_path, "--dump-dom", "--window-size=1400,900")
    found = json.loads(re.search(r'<pre id="out">(.*?)</pre>', printed)[1])
    assert found["wide"] == width and found["text"] > 2000
    assert found["scroll"] <= width and found["sticks"] == []


@pytest.mark.parametrize("width", [500, DESK])
@pytest.mark.parametrize("dark", [False, True])
def test_it_shows_something_from_top_to_bottom(page, tmp_path, width, dark):
    path = tmp_path / "page.png"
    # The browser's own preference: its setting for pages that know the dark.
    options = ["--blink-settings=preferredColorScheme=0"] if dark else []
    browse(page, tmp_path, f"--screenshot={path}", f"--window-size={width},4000", *options)
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("L")).astype(float)
    assert pixels.shape == (4000, width)
    assert all(band.std() > 5 for band in np.array_split(pixels, 8))
    assert (np.median(pixels) < 60) == dark


def test_what_sticks_out_would_be_seen(page, tmp_path):
    wide = tmp_path / "wide.html"
    text = page.read_text(encoding="utf-8")
    wide.write_text(text.replace("</main>", '<p style="width: 600px">x</p></main>'))
    with pytest.raises(AssertionError):
        test_nothing_sticks_out(wide, tmp_path, PHONE)


def test_it_prints(page, tmp_path):
    path = tmp_path / "page.pdf"
    browse(page, tmp_path, f"--print-to-pdf={path}", "--no-pdf-header-footer")
    assert path.read_bytes().startswith(b"%PDF") and path.stat().st_size > 50_000
