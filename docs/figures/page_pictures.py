"""Pictures of the page of `dsnc serve`, for the docs: docs/images/page-*.png.

    python docs/figures/page_pictures.py MODEL LABEL TEXT

Those in the docs are of job titles and the 973 occupations that they belong to (O*NET database,
U.S. Department of Labor, CC BY 4.0): MODEL is what `dsnc train titles.tsv --bits 64` made of them,
LABEL an occupation, TEXT a title. Needs Chromium.
"""

import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
IMAGES = ROOT / "docs" / "images"


def main(model: str, label: str, text: str) -> None:
    """Start a service, look at it in several ways, and write the pictures."""
    from browsing import Browser
    from serving import Service

    with tempfile.TemporaryDirectory() as folder:
        service, browser = Service(Path(folder), model), Browser()
        try:
            _pictures(browser, f"http://127.0.0.1:{service.port}/", label, text)
        finally:
            browser.close()
            service.stop()


def _pictures(browser: "Browser", address: str, label: str, text: str) -> None:  # noqa: F821
    def show(*, dark: bool = False, width: int = 1280, height: int = 800) -> None:
        is_phone = width < 600
        browser.screen(width, height, dark=dark, sharp=1.5 if is_phone else 1, touch=is_phone)
        browser.open(address)
        browser.ready()
        browser.find("#search").send_keys(label)
        browser.press("ENTER")

    show()
    for bit in (3, 21):
        browser.find(f"[data-bit='{bit}']").click()
    browser.js("document.activeElement.blur()")
    _write(browser, "page-light")
    show(dark=True, height=1000)
    browser.find("#tab-try").click()
    browser.find("#try-input").send_keys(text)
    browser.press("ENTER")
    browser.wait("document.querySelector('#try-result .answer')")
    browser.js("document.activeElement.blur() || document.querySelector('.panel').scrollTo(0, 60)")
    _write(browser, "page-dark")
    show(width=390, height=780)
    browser.js("document.activeElement.blur()")
    _write(browser, "page-phone")


def _write(browser: "Browser", name: str) -> None:  # noqa: F821
    import time

    from PIL import Image

    time.sleep(1)  # until the map has come to rest
    picture = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")
    picture.save(IMAGES / f"{name}.png", optimize=True)
    print(f"{name}.png: {(IMAGES / f'{name}.png').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
