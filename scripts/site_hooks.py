"""What mkdocs asks while it builds the site: pages from outside ``docs``, and links that lead out of it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
OUTSIDE: Final = {
    "project/contributing.md": "CONTRIBUTING.md",
    "project/architecture.md": "ARCHITECTURE.md",
    "project/weaknesses.md": "SECURITY.md",
    "explanation/benchmarks.md": "tests/benchmarks/RESULTS.md",
    "project/changelog.md": "CHANGELOG.md",
}
"""Pages of the site that lie elsewhere in the repository."""
_LINK: Final = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))|(<img [^>]*src=\")([^\"]+)()(\")")
_REMARK: Final = re.compile(r"(^ *```sh\n) *# (?:run by|not run here:) .+\n\n?", re.MULTILINE)
_ADDRESS: Final = re.compile(r"[a-z]+:")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages from outside ``docs``."""
    from mkdocs.structure.files import File  # type: ignore[import-not-found]

    for page, source in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Leads links to pages of the site where there are such, else to the repository; leaves remarks for tests out."""
    source = OUTSIDE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return relinked(without_remarks(markdown), source, config["extra"]["repository"])


def without_remarks(markdown: str) -> str:
    """Returns a page whose blocks of commands begin with the first command, not with what says who runs them."""
    return _REMARK.sub(r"\1", markdown)


def relinked(markdown: str, source: str, repository: str, outside: Mapping[str, str] = OUTSIDE) -> str:
    """Returns a page with its links as the site has them.

    Args:
        markdown: The page.
        source: Where it lies in the repository.
        repository: The repository's address.
        outside: Pages of the site by where they lie in the repository.
    """
    pages = {place: page for page, place in outside.items()}
    folder = posixpath.dirname(pages.get(source, source.removeprefix("docs/"))) or "."

    def replaced(match: re.Match[str]) -> str:
        before, link, anchor, after = match.groups()[:4] if match[1] else match.groups()[4:]
        if _ADDRESS.match(link):
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        if target in pages or target.startswith("docs/"):
            found = posixpath.relpath(pages.get(target, target.removeprefix("docs/")), folder)
        else:
            kind = "tree" if (ROOT / target).is_dir() else "blob"
            found = f"{repository}/{kind}/main/{target}"
        return f"{before}{found}{anchor or ''}{after}"

    return _LINK.sub(replaced, markdown)
