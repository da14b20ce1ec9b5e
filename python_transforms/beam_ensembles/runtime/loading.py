"""An ensemble file on this machine to a checked graph, for whoever names the file himself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from beam_ensembles.errors import WHOLE_FILE, InvalidEnsemble, Problem
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.graph.files import ANYTHING, FileProblem, Files
from beam_ensembles.runtime.kinds import KINDS
from beam_ensembles.spec.load import read_text


def graph_of_file(
    file: str | os.PathLike[str],
    *,
    parameters: Mapping[str, str] | None = None,
    trust: Sequence[str] | None = None,
) -> EnsembleGraph:
    """Reads and checks an ensemble file.

    Args:
        file: The file, YAML or JSON.
        parameters: Values of ``${name}`` in it.
        trust: Folders whose pickles may be loaded without a ``sha256``. Who names a file on his own machine trusts its
            folder: that is the default.

    Raises:
        InvalidEnsemble: The file is missing or wrong; everything that is wrong is reported at once.
    """
    path = os.path.abspath(file)
    folder = os.path.dirname(path)
    try:
        Files(trusted=(folder,)).check(path)
    except FileProblem as error:
        raise InvalidEnsemble([Problem(WHOLE_FILE, error.code, str(error))]) from error
    files = Files(folder, (folder,) if trust is None else tuple(trust), code=ANYTHING, hosts=ANYTHING)
    return check_text(read_text(path), KINDS, files, parameters=parameters)
