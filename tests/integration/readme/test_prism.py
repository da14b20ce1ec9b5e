"""Prism is installed as the page on installing says, in the version that the project's Go module has."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest

from scripts import toolchains
from scripts.layout import GO_MODULE, PRISM
from tests.support import pages
from tests.support.commands import needed, run
from tests.support.patience import SECONDS, wait_until
from tests.support.ports import free_ports

PAGE = "get-started/installing.md"


def test_the_page_installs_prism(tmp_path: Path) -> None:
    needed("go")
    text = pages.block_with(PAGE, "go install").text
    run("bash", "-euc", text, folder=tmp_path, **toolchains.environment(), GOBIN=str(tmp_path))
    assert (tmp_path / "prism").is_file()


def test_the_page_names_the_version_that_is_tested() -> None:
    module = (GO_MODULE / "go.mod").read_text(encoding="utf-8")
    tested = re.findall(r"github.com/apache/beam/sdks/v2 (v\S+)", module)
    go = re.findall(r"^go (\d+\.\d+)", module, re.MULTILINE)
    page = pages.path_of(PAGE).read_text(encoding="utf-8")
    assert set(re.findall(r"(?:prism@|releases/tag/)(v[\d.]+)", page)) == set(tested)
    assert re.findall(r"You need Go ([\d.]+)", page) == go


@pytest.mark.parametrize("page", ["get-started/java.md", "get-started/beam-yaml.md"])
def test_the_pages_start_prism(page: str) -> None:
    (block,) = [one for one in pages.blocks(page) if one.run_by is not None and "test_prism.py" in one.run_by]
    ((program, port_of_page),) = block.commands()
    assert program == "prism"
    assert port_of_page == "--job_port=8073"
    (port,) = free_ports(1)
    process = subprocess.Popen([PRISM, port_of_page.replace("8073", str(port))], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: listens(port), "Prism listens")
    finally:
        process.terminate()
        process.wait(SECONDS)


def listens(port: int) -> bool:
    """Returns whether something listens on a port of this machine."""
    with socket.socket() as one:
        return one.connect_ex(("localhost", port)) == 0
