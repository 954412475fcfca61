"""A real browser, and what tests ask of a page in it."""

import json
import shutil
import time

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

BINARIES = ("chromium", "chromedriver")
OPTIONS = [
    "--headless=new",
    "--no-sandbox",  # of use to nobody here: tests may be run by root
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
PATIENCE = 20.0  # seconds


def missing():
    """Return what is not installed."""
    return [name for name in BINARIES if shutil.which(name) is None]


class Browser:
    """Shows pages, and remembers what went wrong in them and what they asked for."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for option in OPTIONS:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options, driver)
        self.driver.set_script_timeout(60)

    def close(self):
        self.driver.quit()

    def screen(self, width=1280, height=800, *, dark=False, sharp=1, touch=False):
        size = {"width": width, "height": height, "deviceScaleFactor": sharp, "mobile": touch}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        touching = {"enabled": touch, "maxTouchPoints": 2}
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", touching)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, address):
        """Show a page, from the beginning, and wait until its model is there."""
        self.driver.get("about:blank")
        self.forget()
        self.driver.get(address)

    def ready(self, *, map=True):
        self.wait("document.body.classList.contains('ready')")
        if map:
            self.wait("document.querySelector('.stage').dataset.shown === 'map'")

    def js(self, script, *arguments):
        return self.driver.execute_script(f"return {script}", *arguments)

    def wait(self, script, seconds=PATIENCE):
        """Wait until an expression of JavaScript is true."""
        end = time.monotonic() + seconds
        while not self.js(script):
            assert time.monotonic() < end, f"{script}\n{self.problems()}\n{self.text('body')}"
            time.sleep(0.03)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def texts(self, selector):
        return self.js(
            "[...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector
        )

    def press(self, *keys):
        """Press keys, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(getattr(Keys, key, key))

    def focus(self):
        """Return what has the focus: its id, or what it is called."""
        script = "(e => e.id || e.getAttribute('aria-label') || e.textContent)"
        return self.js(f"{script}(document.activeElement)")

    def forget(self):
        for name in ("browser", "performance"):
            self.driver.get_log(name)

    def problems(self):
        """Return what the console has complained about since the page was opened."""
        return [line for line in self.driver.get_log("browser") if line["level"] != "INFO"]

    def requests(self):
        """Return all addresses that were asked for since the page was opened."""
        lines = (json.loads(line["message"]) for line in self.driver.get_log("performance"))
        sent = [
            m["message"] for m in lines if m["message"]["method"] == "Network.requestWillBeSent"
        ]
        return [message["params"]["request"]["url"] for message in sent]
