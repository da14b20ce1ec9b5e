"""A place for temporary files that goes away: Beam's SDKs leave folders and whole binaries behind in theirs."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

_VARIABLE = "TMPDIR"


@contextlib.contextmanager
def own_temporary_folder() -> Iterator[str]:
    """Makes this process, and the programs that it starts, use a temporary folder that is removed after the block.

    Beam's Python SDK leaves a folder a pipeline and an environment, its Go SDK the worker's binary (40 MB) a loopback
    pipeline.

    Yields:
        The folder.
    """
    before = os.environ.get(_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-", ignore_cleanup_errors=True) as folder:
        os.environ[_VARIABLE] = tempfile.tempdir = folder
        try:
            yield folder
        finally:
            tempfile.tempdir = None
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before
