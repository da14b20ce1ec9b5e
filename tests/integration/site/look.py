"""Looks at the built site in a real browser and prints what is wrong with it, as JSON; run by ``test_site.py``.

It runs in the environment of ``requirements/docs.txt``, which has no other package of this project's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

PAGES = (
    "",
    "get-started/first-ensemble/",
    "how-to/plugins/",
    "reference/errors/",
    "reference/handlers/",
    "reference/python/",
)
WIDE, NARROW = 1280, 390
LOOKS = ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"))
"""Widths of screens and colours; colours do not change what fits."""
GRAVE = ("serious", "critical")
OVERFLOW = "document.scrollingElement.scrollWidth - window.innerWidth"


def open_page(browser: Browser, base: str, path: str, width: int, scheme: str, found: list[str]) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    where = f"{path or 'home'} {width} {scheme}"
    host = urlsplit(base).netloc
    page.on("console", lambda said: said.type == "error" and found.append(f"{where}: console: {said.text}"))
    page.on("pageerror", lambda error: found.append(f"{where}: {error}"))
    page.on(
        "request",
        lambda request: (
            urlsplit(request.url).netloc not in (host, "")
            and found.append(f"{where}: asks another host: {request.url}")
        ),
    )
    page.goto(f"{base}/{path}", wait_until="networkidle")
    return page


def look(browser: Browser, base: str, screens: Path) -> list[str]:
    found: list[str] = []
    for path in PAGES:
        for width, scheme in LOOKS:
            page = open_page(browser, base, path, width, scheme, found)
            where = f"{path or 'home'} {width} {scheme}"
            name = f"{path.strip('/').replace('/', '-') or 'home'}-{width}-{scheme}.png"
            page.screenshot(path=str(screens / name))
            if page.evaluate(OVERFLOW) > 0:
                found.append(f"{where}: wider than the screen")
            if width == WIDE:
                for violation in Axe().run(page).response["violations"]:
                    if violation["impact"] in GRAVE:
                        nodes = [node["html"][-120:] for node in violation["nodes"][-3:]]
                        found.append(f"{where}: axe: {violation['id']} ({len(violation['nodes'])}): {nodes}")
            page.close()
    page = open_page(browser, base, "?q=soft_vote", *LOOKS[0], found)
    page.wait_for_selector(".md-search-result__item", timeout=60_000)
    results = page.locator(".md-search-result__item").all_inner_texts()
    if not any("soft_vote" in text for text in results):
        found.append(f"the search does not find soft_vote: {results[:3]}")
    page.screenshot(path=str(screens / "search.png"))
    return found


def main(base: str, chromium: str, screens: str) -> None:
    Path(screens).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            print(json.dumps(look(browser, base, Path(screens))))
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
