"""The kinds of node that compute columns. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Final

from beam_ensembles.functions.argmax import ArgmaxKind
from beam_ensembles.functions.audio import AudioKind
from beam_ensembles.functions.image import ImageKind
from beam_ensembles.functions.keywords import KeywordsKind
from beam_ensembles.functions.labels import LabelsKind
from beam_ensembles.functions.lookup.kind import LookupKind
from beam_ensembles.functions.processor import ProcessorKind
from beam_ensembles.functions.python_function import PythonFunctionKind
from beam_ensembles.functions.read.kind import ReadKind
from beam_ensembles.functions.softmax import SoftmaxKind
from beam_ensembles.functions.sql import SqlKind
from beam_ensembles.functions.text import TextKind
from beam_ensembles.functions.top_k import TopKKind
from beam_ensembles.functions.zip import ZipKind
from beam_ensembles.graph.kinds import kind_table

FUNCTION_KINDS: Final = kind_table(
    [
        ArgmaxKind(),
        AudioKind(),
        ImageKind(),
        KeywordsKind(),
        LabelsKind(),
        LookupKind(),
        ProcessorKind(),
        PythonFunctionKind(),
        ReadKind(),
        SoftmaxKind(),
        SqlKind(),
        TextKind(),
        TopKKind(),
        ZipKind(),
    ]
)
"""Each value of a node's ``apply`` key."""
