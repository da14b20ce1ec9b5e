"""Which secrets a file may name."""

from __future__ import annotations

import pytest

from beam_ensembles.files.ensemble_files import ANYTHING, FileProblem, Files


@pytest.mark.parametrize(
    ("allowed", "place", "is_allowed"),
    [
        ((), "env:TOKEN", False),
        (("env:TOKEN",), "env:TOKEN", True),
        (("env:TOKEN",), "env:TOKENS", False),
        (("env:TOKEN",), "env:token", False),
        (("env:ML_*",), "env:ML_DB", True),
        (("env:*",), "file:/etc/shadow", False),
        (("file:/run/secrets/*",), "file:/run/secrets/db", True),
        (("file:/run/secrets/*",), "file:/run/secret", False),
        (ANYTHING, "env:ANY", True),
    ],
)
def test_a_secret_needs_leave(allowed: tuple[str, ...], place: str, is_allowed: bool) -> None:
    files = Files(secrets=allowed)
    if is_allowed:
        files.check_secret(place)
        return
    with pytest.raises(FileProblem, match=f"--allow-secret '{place}'") as caught:
        files.check_secret(place)
    assert caught.value.code == "untrusted_secret"


def test_workers_learn_nothing_of_what_else_is_allowed() -> None:
    files = Files("/models", ("/models",), code=ANYTHING, hosts=("localhost",), secrets=ANYTHING)
    assert files.for_workers() == Files("/models", ("/models",), hosts=("localhost",))
