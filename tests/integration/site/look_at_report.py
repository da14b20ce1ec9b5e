"""Looks at the page of ``evaluate --report`` in a real browser, and prints what is wrong with it as JSON.

It runs in the environment of ``requirements/docs.txt``, which has no other package of this project's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

WIDE, NARROW = 1280, 390
LOOKS = ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"))
"""Widths of screens and colours; colours do not change what fits."""
GRAVE = ("serious", "critical")
OVERFLOW = "document.scrollingElement.scrollWidth - window.innerWidth"


def look(browser: Browser, page_file: Path, screens: Path) -> list[str]:
    found: list[str] = []
    for width, scheme in LOOKS:
        # Axe is a script, which the page's own policy does not allow.
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        where = f"{width} {scheme}"
        page.on("console", lambda said: said.type == "error" and found.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: found.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: request.url.startswith("file:") or found.append(f"asks for {request.url}"),
        )
        page.goto(page_file.as_uri(), wait_until="networkidle")
        page.screenshot(path=str(screens / f"report-{width}-{scheme}.png"), full_page=True)
        if page.evaluate(OVERFLOW) > 0:
            found.append(f"{where}: wider than the screen")
        for part in ("table", "svg.chart", ".confusion", ".verdict"):
            if not page.locator(part).count():
                found.append(f"{where}: has no {part}")
        if width == WIDE:
            for violation in Axe().run(page).response["violations"]:
                if violation["impact"] in GRAVE:
                    nodes = [node["html"][:160] for node in violation["nodes"][:3]]
                    found.append(f"{where}: axe: {violation['id']}: {nodes}")
        page.close()
    return found


def main(page_file: str, chromium: str, screens: str) -> None:
    Path(screens).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            print(json.dumps(look(browser, Path(page_file), Path(screens))))
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
