"""The Go client's constants are those of ``docs/reference/errors.md``."""

from __future__ import annotations

from scripts.go_codes import DOCS, FILE, written


def test_the_constants_are_those_of_the_docs() -> None:
    assert FILE.read_text(encoding="utf-8") == written(DOCS.read_text(encoding="utf-8")), (
        "run `python -m scripts.go_codes`"
    )


def test_names_are_written_as_go_writes_them() -> None:
    text = written(
        "# Errors\n\n## Files\n\n### `bad_sha256`\n\n### `relative_uri`\n\n## Warnings\n\n### `unsure`\n"
    )
    assert text.endswith(
        'const (\n\t// Files.\n\n\tCodeBadSHA256   = "bad_sha256"\n\tCodeRelativeURI = "relative_uri"\n)\n'
    )
