"""The kinds of node that compute columns: a new one is a file beside this one and a line here.

The reference, the JSON Schema and ``list`` show the kinds in this order.
Nothing is imported here: a kind's module is imported when a file uses the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FUNCTION_KINDS: Final[Mapping[str, str]] = {
    "argmax": "beam_ensembles.functions.argmax:ArgmaxKind",
    "audio": "beam_ensembles.functions.audio:AudioKind",
    "calibrate": "beam_ensembles.functions.calibrate:CalibrateKind",
    "image": "beam_ensembles.functions.image:ImageKind",
    "keywords": "beam_ensembles.functions.keywords:KeywordsKind",
    "labels": "beam_ensembles.functions.labels:LabelsKind",
    "lookup": "beam_ensembles.functions.lookup.kind:LookupKind",
    "processor": "beam_ensembles.functions.processor:ProcessorKind",
    "python": "beam_ensembles.functions.python_function:PythonFunctionKind",
    "read": "beam_ensembles.functions.read.kind:ReadKind",
    "softmax": "beam_ensembles.functions.softmax:SoftmaxKind",
    "sql": "beam_ensembles.functions.sql:SqlKind",
    "text": "beam_ensembles.functions.text:TextKind",
    "top_k": "beam_ensembles.functions.top_k:TopKKind",
    "zip": "beam_ensembles.functions.zip:ZipKind",
}
"""Where each value of a node's ``apply`` key is: ``module:Class``, or ``module:OBJECT``."""
