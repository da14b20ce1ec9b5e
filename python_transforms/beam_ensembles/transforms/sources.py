"""Where an ensemble's text comes from: inline, a local file, or any file that Beam's FileSystems open."""

from __future__ import annotations

import os

from apache_beam.io.filesystems import FileSystems

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph.files import FileProblem, Files, local_path
from beam_ensembles.spec.load import read_text


def read_uri(uri: str) -> tuple[str, str]:
    """Reads an ensemble file.

    Args:
        uri: An absolute path or URI.

    Returns:
        Its text, and the folder that relative URIs in it are relative to.

    Raises:
        InvalidEnsemble: It is missing, cannot be read or is not UTF-8.
    """
    path = local_path(uri)
    if path is None:
        return _read_remote(uri), uri.rpartition("/")[0]
    if not os.path.isabs(path):
        text = f"'{uri}' is relative to nothing that the service knows; give an absolute path or URI"
        raise InvalidEnsemble([Problem("spec_uri", "relative_uri_without_base", text)])
    try:
        Files().check(path)
    except FileProblem as error:
        raise InvalidEnsemble([Problem("spec_uri", error.code, str(error))]) from error
    return read_text(path), os.path.dirname(path)


def _read_remote(uri: str) -> str:
    try:
        with FileSystems.open(uri) as file:
            return str(file.read().decode("utf-8-sig"))
    except Exception as error:
        text = f"'{uri}' cannot be read: {error}"
        raise InvalidEnsemble([Problem("spec_uri", "unreadable_file", text)]) from error
