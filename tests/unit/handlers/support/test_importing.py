"""Names that a file has imported on a worker."""

from __future__ import annotations

import json.decoder
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.importing import import_name
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.model import NodeSpec

NODE = CheckedNode(NodeSpec("n", "model", "python", None, (), {}), KINDS["model", "python"], {}, {})


def test_classes_functions_and_what_is_inside_of_them() -> None:
    found: dict[str, Callable[..., Any]] = {
        "json.decoder.JSONDecoder": json.decoder.JSONDecoder,
        "json.decoder.JSONDecoder.decode": json.decoder.JSONDecoder.decode,
        "json.dumps": json.dumps,
    }
    for name, wanted in found.items():
        assert import_name(NODE, "model_class", name) is wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no_such_package.Net", "this worker has no module 'no_such_package'"),
        ("json.no_such.Net", "'json' has no 'no_such.Net'"),
        ("json.decoder.JSONDecodr", "did you mean 'JSONDecoder'?"),
        ("json.decoder", "is neither a class nor a function, but a module"),
        ("pathlib.os.system", "is posix.system; name it there"),
    ],
)
def test_what_cannot_be_imported(name: str, text: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        import_name(NODE, "model_class", name)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("import_failed", "nodes.n.model_class")
    assert text in problem.message


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("lacks", "import no_such_package", "it needs the module 'no_such_package'"),
        ("raises", "raise KeyError('q')", "importing 'raises.Net' raises KeyError: 'q'"),
        ("open", "def f(", "importing 'open.Net' raises SyntaxError: '(' was never closed"),
        ("leaves", "raise SystemExit(0)", "importing 'leaves.Net' raises SystemExit: 0"),
    ],
)
def test_a_module_that_breaks_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, text: str
) -> None:
    (tmp_path / f"{name}.py").write_text(f"{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidEnsemble, match=re.escape(text)):
        import_name(NODE, "model_class", f"{name}.Net")
