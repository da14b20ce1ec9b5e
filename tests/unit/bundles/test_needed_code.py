"""Code that a bundle lacks is named when it is packed; nothing of it is imported for that."""

from __future__ import annotations

import pickle
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline

from beam_ensembles.bundles.needed_code import lacking_code
from beam_ensembles.bundles.pickled_names import names_in
from tests.unit.bundles.conftest import Pack

CODE = """\
class Clip:
    def fit(self, x, y=None):
        return self
    def transform(self, x):
        return x
class Tail:
    pass
def scored(x):
    return x
"""
NEEDS = """\
ensemble: needs
inputs: {x: "array<double>[3]", t: double}
nodes:
  one: {model: sklearn, uri: model.joblib, inputs: [x], outputs: {y: string}}
  two: {apply: python, function: needed_team.scored, inputs: [t], outputs: {z: double}}
"""


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module of the user's, on the path of this process alone."""
    (tmp_path / "needed_team.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("needed_team")
    monkeypatch.setitem(sys.modules, "needed_team", module)
    return module


def model_of(team: Any) -> list[Any]:
    """A pipeline with large arrays and arrays of objects, and something behind them."""
    x = np.random.default_rng(1).random((200, 3))
    y = np.array(["a", "b"], dtype=object)[(x[:, 0] > 0.5).astype(int)]
    forest = RandomForestClassifier(10, random_state=1).fit(x, y)
    return [Pipeline([("clip", team.Clip()), ("forest", forest)]), y, x, team.Tail()]


def _joblib(**more: Any) -> Callable[[Any, Path], Any]:
    return lambda model, path: joblib.dump(model, path, **more)


def _pickle(protocol: int) -> Callable[[Any, Path], Any]:
    return lambda model, path: path.write_bytes(pickle.dumps(model, protocol=protocol))


SAVED = {
    **{f"pickle {protocol}": _pickle(protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    **{f"joblib {way}": _joblib(compress=(way, 3)) for way in ("zlib", "gzip", "bz2", "xz", "lzma")},
    "joblib": _joblib(),
    "joblib 2": _joblib(protocol=2),
}


@pytest.mark.parametrize("way", SAVED)
def test_names_of_pickles_are_found_behind_arrays_too(
    tmp_path: Path, team: types.ModuleType, way: str
) -> None:
    SAVED[way](model_of(team), tmp_path / "model")
    found = names_in(str(tmp_path / "model"))
    assert {"needed_team.Clip", "needed_team.Tail"} <= found
    assert all(name.partition(".")[0] in ("needed_team", "sklearn", "numpy", "joblib", "copyreg", "copy_reg",
                                          "__builtin__", "builtins", "_codecs") for name in found)  # fmt: skip


@pytest.mark.parametrize("is_archive", [True, False])
def test_names_of_modules_of_pytorch_are_found(
    tmp_path: Path, team: types.ModuleType, is_archive: bool
) -> None:
    torch = pytest.importorskip("torch")
    torch.save([team.Tail(), torch.ones(3)], tmp_path / "a.pt", _use_new_zipfile_serialization=is_archive)
    assert "needed_team.Tail" in names_in(str(tmp_path / "a.pt"))


def test_nothing_that_a_pickle_calls_is_called(tmp_path: Path, team: types.ModuleType) -> None:
    class Payload:
        def __reduce__(self) -> Any:
            return (exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",))

    (tmp_path / "a.pkl").write_bytes(pickle.dumps([Payload(), team.Tail()]))
    assert names_in(str(tmp_path / "a.pkl")) == {"builtins.exec", "needed_team.Tail"}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80", b"\x80\x04\x95", b"PK\x03\x04", b"\x1f\x8b", b"\x78\x9c", b"{}", b"\x80\x04cos\nsystem\n"],
)
def test_damaged_files_name_what_can_be_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert names_in(str(tmp_path / "a")) <= {"os.system"}


@pytest.mark.parametrize("head", [b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"\x5d\x00\x00", b"\x78\x9c"])
def test_damaged_compression_names_nothing(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "a").write_bytes(head + b"no compressed data at all")
    assert names_in(str(tmp_path / "a")) == frozenset()


def test_a_damaged_archive_names_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", pickle.dumps(list(range(1_000))))
    content = bytearray((tmp_path / "a.pt").read_bytes())
    content[60:80] = b"\xff" * 20
    (tmp_path / "a.pt").write_bytes(content)
    assert names_in(str(tmp_path / "a.pt")) == frozenset()


def test_a_bundle_without_the_code_that_it_needs_is_warned_of(
    tmp_path: Path, team: types.ModuleType, pack_file: Pack
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    joblib.dump(model_of(team)[0], folder / "model.joblib")
    (folder / "needs.yaml").write_text(NEEDS)
    place = tmp_path / "needed_team.py"
    (warning,) = pack_file(folder / "needs.yaml").warnings
    assert (
        warning
        == f"the ensemble file needs 'needed_team.scored', but the module 'needed_team' is not packed: --code {place}"
    )
    assert pack_file(folder / "needs.yaml", code=[str(place)]).warnings == ()


def test_what_workers_have_is_not_warned_of(tmp_path: Path) -> None:
    named = [
        "sklearn.svm.SVC",
        "collections.OrderedDict",
        "beam_ensembles.types.Array",
        "__torch__.Net",
        "numpy.ndarray",
    ]
    assert lacking_code(named, {}, (), str(tmp_path)) == ()


def test_code_of_a_script_is_told_to_become_a_module(tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04c__main__\nClip\n.")
    (warning,) = lacking_code([], {"files/a.pkl": str(tmp_path / "a.pkl")}, (), str(tmp_path))
    assert warning.startswith("'a.pkl' needs '__main__.Clip' of the script or notebook that saved it")
    assert "--code MODULE.py" in warning


def test_a_module_that_is_nowhere_is_still_named(tmp_path: Path) -> None:
    (warning,) = lacking_code(["nowhere_at_all.Net"], {}, (), str(tmp_path))
    assert warning.endswith("not installed here; name its folder, file or wheel: --code PATH")
