"""The site of the pages, in a real Chromium: it builds, asks no other host, is searched, and fits any screen."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import site
from scripts.environments import locked_environment
from scripts.layout import BUILD

SCREENS = BUILD / "site-screens"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves a folder on a free port of this machine."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def chromium() -> str:
    """Returns the path of Chromium, which is installed where this may be done, or skips the test."""
    if shutil.which("chromium") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in ("update", "install"):
            more = ["--yes", "--no-install-recommends", "chromium"] if command == "install" else []
            subprocess.run(["apt-get", "--quiet", command, *more], capture_output=True, check=False)
    return shutil.which("chromium") or pytest.skip(
        "there is no chromium here (Debian: apt-get install chromium)"
    )


def test_the_site_is_right_in_a_browser() -> None:
    browser = chromium()
    assert site.build()
    for path in site.FOLDER.rglob("index.html"):  # a block that mkdocs did not take for one
        text = path.read_text(encoding="utf-8")
        assert "```" not in text, path
        assert not re.search(r"<p>\s*\|", text), path
    python = locked_environment("docs") / "bin" / "python"
    with served(site.FOLDER) as base:
        command = [python, Path(__file__).with_name("look.py"), base, browser, SCREENS]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
