"""The page of a service: search, flip, try, add; with a mouse, with keys, and with a token."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import dsnc
from cli_files import ROLES
from dsnc.codes import PackedCodes
from dsnc.inspection import class_codes
from serving import GOLDEN, Service
from two_texts import two_texts

RULES = Path(__file__).with_name("rules.js").read_text()
TOKEN = "correct horse battery staple"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """A model of three dozen kinds of jobs."""
    kinds = [f"{special} {role}" for role, some in ROLES.items() for special in some]
    labels = [f"{kind} {grade}" for kind in kinds for grade in ("junior", "senior", "chief")]
    forms = "{}", "a {} wanted", "{} (all)", "we seek a {}", "{} at night", "{}!", "{}, part time"
    texts = [form.format(label) for label in labels for form in forms]
    settings = {"n_bits": 24, "max_epochs": 8, "trainer": "fast", "decoder": "shortlist"}
    model = dsnc.DSNCClassifier(**settings, validation_fraction=0.3)
    model.fit(texts, np.repeat(labels, len(forms)))
    model.save(tmp_path_factory.mktemp("models") / "jobs")
    return model


@pytest.fixture(scope="module")
def service(jobs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "tokens").write_text(TOKEN)
    jobs.save(folder / "jobs")
    shutil.copytree(GOLDEN / "golden/format1_sets", folder / "tags")
    models = folder / "jobs", GOLDEN / "golden_baselines/mlp", folder / "tags"
    service = Service(folder, *models, "--token-file", folder / "tokens")
    service.address = f"http://127.0.0.1:{service.port}/"
    yield service
    assert service.stop() == 0


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A service of a model that reads two texts."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "tokens").write_text(TOKEN)
    two_texts(folder / "a.csv").save(folder / "two")
    service = Service(folder, folder / "two", "--token-file", folder / "tokens")
    service.address = f"http://127.0.0.1:{service.port}/"
    yield service
    assert service.stop() == 0


@pytest.fixture
def page(browser, service):
    browser.open(service.address)
    browser.wait("!document.getElementById('locked').hidden")
    assert browser.focus() == "token"
    browser.press("a wrong one", "ENTER")
    browser.wait("!document.getElementById('token-problem').hidden")
    browser.press(TOKEN, "ENTER")
    browser.ready()
    browser.problems()  # the console says that there was a 401, which is as it should be
    return browser


def test_a_class_is_found_by_its_label(page, jobs):
    page.press("/")
    page.press("drone", " ", "p")
    page.wait("document.querySelectorAll('#matches [role=option]').length === 3")
    page.press("ARROW_DOWN", "ENTER")
    labels = [label for label in jobs.classes_.tolist() if "drone p" in label]
    assert page.text("#code-title") == labels[1]
    assert "class=drone+pilot" in page.driver.current_url
    page.js("location.hash = new URLSearchParams({model: 'jobs', class: arguments[0]})", labels[2])
    page.wait(f"document.getElementById('code-title').textContent === {labels[2]!r}")
    page.press("zzz")
    assert page.text("#matches") == "Nothing contains this text."
    page.press("ESCAPE")


def test_a_text_for_each_column_is_tried(browser, two, tmp_path):
    browser.open(two.address)
    browser.wait("!document.getElementById('locked').hidden")
    browser.press(TOKEN, "ENTER")
    browser.ready()
    browser.problems()
    browser.find("#tab-try").click()
    assert browser.texts("#try-fields label") == ["title", "note"]
    browser.find("#try-fields label").click()
    browser.press("sushi cook", "TAB", "bus driver", "ENTER")
    browser.wait("document.querySelector('#try-result .answer')")
    assert browser.text("#try-result .answer strong") == "cook"
    assert browser.text(".marked").startswith("sushi cook | bus driver")
    assert browser.text("#code-title") == "sushi cook | bus driver"
    assert browser.driver.execute_script(RULES) == []
    browser.find("#tab-about").click()
    assert "title, note" in browser.text("#about-facts")
    browser.find("#tab-add").click()
    assert (
        browser.text("#add-rows-label") == "Its rows, one per line: title, note, with tabs between"
    )
    browser.find("#add-label").send_keys("tow")
    rows = "tow boat\tbus driver\ntow rope\tsushi cook"
    browser.js("(document.getElementById('add-rows').value = arguments[0])", rows)
    browser.find("#add-form button").click()
    browser.wait("document.querySelector('#add-result .done')")
    assert "5 classes" in browser.text("#headline")


def test_flipped_bits_find_other_classes_in_exact_order(page, jobs):
    codes = class_codes(jobs)
    bits, labels = codes.to_bits(), jobs.classes_.tolist()
    number = labels.index(page.text("#code-title"))
    other = int(np.argmax(codes.distance(codes)[number]))
    flips = np.flatnonzero(bits[number] != bits[other]).tolist()
    for n, bit in enumerate(flips, 1):
        page.find(f"[data-bit='{bit}']").click()
        assert page.text("#flips") == f"{n} bit{'s'[: n > 1]} flipped"
    assert (
        page.find(f"[data-bit='{flips[0]}']").get_attribute("aria-pressed")
        == str(bool(bits[other, flips[0]])).lower()
    )
    distances = codes.distance(PackedCodes.from_bits(bits[other : other + 1]))[:, 0]
    expected = np.lexsort([np.arange(len(labels)), distances])[:12]
    assert page.texts("#nearest button") == [labels[i] for i in expected]
    assert page.texts("#nearest td.number") == [str(distances[i]) for i in expected]
    page.find("#unflip").click()
    assert page.texts("#nearest button")[0] == labels[number]
    assert page.texts("#flips") == [""]


def test_a_text_is_tried_and_explained(page, jobs, service):
    page.find("#tab-try").click()
    page.find("#try-input").send_keys("pastry cook (senior)")
    page.press("ENTER")
    page.wait("document.querySelector('#try-result .answer')")
    (explained,) = jobs.explain(["pastry cook (senior)"])
    assert page.text("#try-result .answer strong") == explained.label
    rows = page.texts("#try-result tbody")
    assert len(rows) == len(explained.candidates)
    assert f"{explained.candidates[0].first:+.2f}".replace("-", "−") in rows[0]
    assert page.texts(".terms .term")[0].strip() == explained.terms[0].name.strip()
    assert page.text("#code-title") == "pastry cook (senior)"
    pressed = [cell.get_attribute("aria-pressed") == "true" for cell in page.all(".bit")]
    assert pressed == [bit.is_set for bit in explained.bits]
    assert page.find(".bit").get_attribute("aria-label").endswith("% sure")
    assert page.text(".marked").startswith("pastry cook (senior)")
    assert page.driver.execute_script(RULES) == []


def test_a_row_of_no_class_is_told(page, jobs):
    assert jobs.is_unknown(["zzzzz qqqq"]).tolist() == [True]
    page.find("#tab-try").click()
    page.find("#try-input").send_keys("zzzzz qqqq")
    page.press("ENTER")
    page.wait("document.querySelector('#try-result .answer')")
    assert "may belong to none of them" in page.text("#try-result")


def test_a_class_is_added(page, service):
    page.find("#tab-add").click()
    page.find("#add-label").send_keys("glass blower")
    page.find("#add-rows").send_keys("glass blower\nblows glass by hand\n")
    page.find("#add-form button").click()
    page.wait("document.querySelector('#add-result .done')")
    page.ready()
    assert page.text("#code-title") == "glass blower"
    assert "37 classes" in page.text("#headline")
    answer = service.ask("GET", "/models/jobs/classes?query=glass", headers=bearer())
    assert json.loads(answer[2])["total"] == 1
    page.find("#add-label").send_keys("bee keeper")
    page.find("#add-from").send_keys("its description")
    assert page.text("#add-rows-label") == "The description"
    page.find("#add-rows").send_keys("keeps bees and harvests honey")
    page.find("#add-form button").click()
    page.wait("document.getElementById('code-title').textContent === 'bee keeper'")
    page.wait("document.querySelector('#add-result .done')")
    assert "from its description; the model has 38 classes now" in page.text("#add-result")


def test_an_error_is_told(page):
    page.find("#tab-add").click()
    page.find("#add-form button").click()
    assert "needs a label" in page.text("#add-result [role=alert]")
    assert page.driver.execute_script(RULES) == []
    page.find("#tab-try").click()
    page.find("#try-form button").click()
    assert page.focus() == "try-input"


def test_a_model_without_codes_says_so(page):
    page.find("#model").send_keys("mlp")
    page.wait("!document.getElementById('no-codes').hidden")
    assert "has no codes" in page.text("#no-codes-why")
    assert not page.find("#bits").is_displayed()
    assert page.texts("[role=tab]:not([hidden])") == ["Try", "About"]
    page.find("#try-input").send_keys(", ".join(["0.5"] * 6))
    page.find("#tab-about").click()
    assert "mlp" in page.text("#about-facts")


def test_labels_of_sets(page):
    page.find("#model").send_keys("tags")
    page.wait("document.getElementById('title').textContent === 'tags'")
    assert page.texts("[role=tab]:not([hidden])") == ["Found", "Try", "About"]
    page.find("#tab-try").click()
    expected = json.loads((GOLDEN / "golden/format1_sets/expected.json").read_text())
    row = next(i for i, labels in enumerate(expected["labels"]) if len(labels) > 1)
    page.find("#try-input").send_keys(", ".join(map(str, expected["X"][row])))
    page.press("ENTER")
    page.wait("document.querySelector('#try-result .answer, #try-result .problem')")
    shown = page.text("#try-result")
    assert all(str(label) in shown for label in expected["labels"][row])


def test_keys_alone_are_enough(page, jobs):
    seen = [page.focus()]
    while not seen[-1].startswith("Bit 0"):
        page.press("TAB")
        seen.append(page.focus())
    zoom = ["zoom-in", "zoom-out", "zoom-whole"]
    assert seen[1:-1] == ["Map of the classes", *zoom, "search"]
    page.press("ARROW_RIGHT", "ARROW_RIGHT", "SPACE")
    assert page.focus().startswith("Bit 2") and "flipped" in page.focus()
    assert "Nearest:" in page.js("document.getElementById('said').textContent")
    assert "Bit 2 set in" in page.text("#bit-line")
    page.press("TAB")
    assert page.focus() == "unflip"
    page.press("TAB")
    assert page.focus() == "tab-found"
    page.press("ARROW_RIGHT")
    assert (page.focus(), page.find("#try").is_displayed()) == ("tab-try", True)
    page.js("document.querySelector('.stage').focus()")
    page.press("+", *["ARROW_LEFT"] * 4, "ENTER")
    left = page.text("#code-title")
    page.press(*["ARROW_RIGHT"] * 8, "ENTER")
    assert page.text("#code-title") != left


def bearer():
    return {"Authorization": f"Bearer {TOKEN}"}
