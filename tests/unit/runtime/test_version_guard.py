"""The check of versions that travels in front of what a worker unpickles."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import beam_ensembles
from beam_ensembles.errors import EnsembleError
from beam_ensembles.runtime import version_guard

SOURCE = inspect.getsource(version_guard)
HERE = version_guard.versions()


def guarded(value: object) -> bytes:
    return pickle.dumps(version_guard.Guarded("digits", pickle.dumps(value), SOURCE, {}))


def test_the_same_versions_give_what_was_pickled() -> None:
    assert pickle.loads(guarded({"a": [1, 2]})) == {"a": [1, 2]}


def test_the_versions_are_those_of_what_is_imported() -> None:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {
        "beam-ensembles": beam_ensembles.__version__,
        "Beam": "",
        "Python": python,
    } == {**HERE, "Beam": ""}
    assert HERE["Beam"].startswith("2.")


@pytest.mark.parametrize("name", HERE)
def test_another_version_is_refused_in_one_sentence(name: str) -> None:
    sent = {**HERE, name: "0.0"}
    with pytest.raises(EnsembleError) as refused:
        version_guard.check(sent, "digits")
    was = f"beam-ensembles {sent['beam-ensembles']}, Beam {sent['Beam']} and Python {sent['Python']}"
    assert str(refused.value) == (
        f"ensemble 'digits' was expanded with {was}, but this worker has {name} {HERE[name]}: the service and its "
        "workers must have the same versions (the worker image to take is that of beam-ensembles "
        f"{sent['beam-ensembles']} for Python {sent['Python']})"
    )


def test_all_that_is_other_is_said() -> None:
    with pytest.raises(
        EnsembleError, match=rf"has beam-ensembles {HERE['beam-ensembles']} and Python 3\.\d+:"
    ):
        version_guard.check({**HERE, "beam-ensembles": "9", "Python": "4.0"}, "digits")


def test_nothing_is_unpickled_before_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    cannot_be_unpickled = pickle.dumps(
        version_guard.Guarded("digits", b"cno_such_module\nname\n.", SOURCE, {})
    )
    monkeypatch.setattr(beam_ensembles, "__version__", "9.9.9")
    with pytest.raises(EnsembleError, match=r"but this worker has beam-ensembles 9\.9\.9:"):
        pickle.loads(cannot_be_unpickled)


def test_a_python_without_this_project_and_beam_says_so(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    sent.write_bytes(guarded("anything"))
    code = f"import pickle; pickle.load(open({str(sent)!r}, 'rb'))"
    done = subprocess.run([sys.executable, "-ISc", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: ensemble 'digits' was expanded with beam-ensembles ")
    assert "but this worker has no beam-ensembles and no Beam: the service" in last


def test_any_python_can_read_it() -> None:
    tree = ast.parse(SOURCE, feature_version=(3, 8))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
        )
    }
    assert imported <= sys.stdlib_module_names


PLUGINS = {"packaging": importlib.metadata.version("packaging"), "acme-kinds": "1.0"}
SAID = (
    "and plugin acme-kinds 1.0, but this worker has no plugin acme-kinds: the service and its workers must have the "
    "same versions (install plugin acme-kinds 1.0 on the workers)"
)


def test_a_worker_without_a_plugin_says_so_before_anything_is_unpickled() -> None:
    cannot_be_unpickled = version_guard.Guarded("e", b"cacme_kinds\nKind\n.", SOURCE, PLUGINS)
    with pytest.raises(EnsembleError) as refused:
        pickle.loads(pickle.dumps(cannot_be_unpickled))
    assert str(refused.value).endswith(SAID)


def test_another_version_of_a_plugin_is_refused() -> None:
    sent = {**HERE, "plugin packaging": "1.0"}
    with pytest.raises(EnsembleError) as refused:
        version_guard.check(sent, "e")
    assert f"but this worker has plugin packaging {PLUGINS['packaging']}: " in str(refused.value)
    with pytest.raises(
        EnsembleError, match=r"for Python \d\.\d+; install plugin packaging 1\.0 on the workers"
    ):
        version_guard.check({**sent, "Beam": "9.0"}, "e")


def test_the_same_version_of_a_plugin_is_right() -> None:
    version_guard.check({**HERE, "plugin packaging": PLUGINS["packaging"]}, "e")


class Unpickled:
    """Fails where it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return eval, ("1 / 0",)


def test_what_is_pickled_behind_a_check_is_not_unpickled() -> None:
    with pytest.raises(EnsembleError) as refused:
        pickle.loads(pickle.dumps((version_guard.Check("e", PLUGINS), Unpickled())))
    assert str(refused.value).endswith(SAID)
