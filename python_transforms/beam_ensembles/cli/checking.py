"""Checks an ensemble file as the person who named it on the command line trusts it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.loading import ensemble_of_file


def checked_file(path: str, parameters: Mapping[str, str], trust: Sequence[str]) -> EnsembleGraph:
    """Reads and checks an ensemble file; its own folder is trusted, and so are the code and secrets that it names.

    Args:
        path: The file.
        parameters: Values of ``${name}``.
        trust: Further folders and URI prefixes to trust.

    Raises:
        InvalidEnsemble: With everything that is wrong.
    """
    folder = os.path.dirname(os.path.abspath(path))
    given = ensemble_of_file(path, parameters, (folder, *trust))
    return check_text(given.text, KINDS, given.files, parameters=given.parameters)
