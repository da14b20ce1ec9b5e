"""Links of a page as the site has them."""

from __future__ import annotations

import pytest

from scripts.site_hooks import OUTSIDE, ROOT, relinked, without_remarks

REPOSITORY = "https://example.com/project"


@pytest.mark.parametrize(
    ("source", "link", "found"),
    [
        ("docs/reference/errors.md", "../how-to/plugins.md#options", "../how-to/plugins.md#options"),
        ("docs/reference/errors.md", "routes.md", "routes.md"),
        ("docs/reference/errors.md", "#syntax", "#syntax"),
        ("docs/reference/errors.md", "../../SECURITY.md", "../project/weaknesses.md"),
        ("docs/reference/errors.md", "../../README.md", f"{REPOSITORY}/blob/main/README.md"),
        ("docs/reference/errors.md", "../../examples/plugin", f"{REPOSITORY}/tree/main/examples/plugin"),
        ("docs/reference/errors.md", "https://beam.apache.org/x.md", "https://beam.apache.org/x.md"),
        ("docs/index.md", "reference/errors.md", "reference/errors.md"),
        ("CONTRIBUTING.md", "docs/reference/errors.md", "../reference/errors.md"),
        ("CONTRIBUTING.md", "ARCHITECTURE.md#a-new-kind", "architecture.md#a-new-kind"),
        ("tests/benchmarks/RESULTS.md", "../../docs/how-to/memory.md", "../how-to/memory.md"),
    ],
)
def test_links(source: str, link: str, found: str) -> None:
    assert relinked(f"See [it]({link}).", source, REPOSITORY) == f"See [it]({found})."


def test_pages_from_elsewhere_are_there() -> None:
    assert [source for source in OUTSIDE.values() if not (ROOT / source).is_file()] == []


@pytest.mark.parametrize(
    "remark", ["# run by make test-image, with other ports", "# not run here: needs a cluster"]
)
@pytest.mark.parametrize("indent", ["", "    "])
def test_readers_see_no_remarks_for_tests(remark: str, indent: str) -> None:
    page = "\n".join(
        indent + line for line in ["```sh", remark, "prism  # not run here: a comment", "```", ""]
    )
    assert without_remarks(page) == page.replace(f"{indent}{remark}\n", "")
