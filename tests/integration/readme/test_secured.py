"""The page on a secured service: its certificate and token are made, and its service answers who has both."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support import pages
from tests.support.commands import run
from tests.support.service import running_service

PAGE = "how-to/secure-service.md"
ADDRESS = "localhost:8097"


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    run("bash", "-euc", pages.block_with(PAGE, "openssl req").text, folder=tmp_path)
    flags = pages.flags_after(PAGE, "beam-ensembles serve")
    files = [str(tmp_path / word) if word == "." or (tmp_path / word).is_file() else word for word in flags]
    with running_service(*files) as service:
        address = f"localhost:{service.address.rpartition(':')[2]}"
        ((_, said),) = [found for found in pages.outputs(PAGE) if "health" in found[0].text]
        text = pages.block_with(PAGE, "beam-ensembles health").text.replace(ADDRESS, address)
        found = run("bash", "-euc", text, folder=tmp_path)
        assert said is not None
        assert found == said.replace(ADDRESS, address)
        outsider = re.sub("^export .*$", f"export BEAM_ENSEMBLES_ADDR={address}", text, flags=re.MULTILINE)
        assert "requires TLS" in run("bash", "-uc", f"{{\n{outsider}}} 2>&1 || true", folder=tmp_path)
