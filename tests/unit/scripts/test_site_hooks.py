"""Links of a page as the site has them."""

from __future__ import annotations

import pytest

from scripts.site_hooks import OUTSIDE, ROOT, relinked

REPOSITORY = "https://example.com/project"


@pytest.mark.parametrize(
    ("source", "link", "found"),
    [
        ("docs/errors.md", "plugins.md#options", "plugins.md#options"),
        ("docs/errors.md", "#syntax", "#syntax"),
        ("docs/errors.md", "../SECURITY.md", "weaknesses.md"),
        ("docs/errors.md", "../README.md", f"{REPOSITORY}/blob/main/README.md"),
        ("docs/errors.md", "../examples/plugin", f"{REPOSITORY}/tree/main/examples/plugin"),
        ("docs/errors.md", "https://beam.apache.org/x.md", "https://beam.apache.org/x.md"),
        ("CONTRIBUTING.md", "docs/errors.md", "errors.md"),
        ("CONTRIBUTING.md", "ARCHITECTURE.md#a-new-kind", "architecture.md#a-new-kind"),
        ("tests/benchmarks/RESULTS.md", "../../docs/memory.md", "memory.md"),
    ],
)
def test_links(source: str, link: str, found: str) -> None:
    assert relinked(f"See [it]({link}).", source, REPOSITORY) == f"See [it]({found})."


def test_pages_from_elsewhere_are_there() -> None:
    assert [source for source in OUTSIDE.values() if not (ROOT / source).is_file()] == []
