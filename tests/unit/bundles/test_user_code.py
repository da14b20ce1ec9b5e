"""The user's code: packed, vouched for, importable on a worker, and what it needs named where it is not there."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles.bundles import user_code
from beam_ensembles.bundles.opening import open_bundle
from beam_ensembles.bundles.packing import Packed
from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from tests.support.bundled import ALLOWED, write_ensemble
from tests.unit.bundles.conftest import Pack

RUN = """\
import sys
import apache_beam as beam
from apache_beam.ml.inference.base import RunInference
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
handler = EnsembleModelHandler(sys.argv[1])
model = handler.load_model()
print([result.inference.greeting for result in handler.run_inference([beam.Row(weight=9.0, length=8.0)], model)])
"""


@pytest.fixture
def ensemble(tmp_path: Path) -> Path:
    return write_ensemble(tmp_path / "originals")


@pytest.fixture(autouse=True)
def own_path() -> Iterator[None]:
    """Takes back what a test does to this process's imports."""
    before, modules = list(sys.path), set(sys.modules)
    user_code._use.cache_clear()
    yield
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in ("sized_team", "acme_tools"):
            del sys.modules[name]


def wheel(folder: Path, name: str = "acme_tools-1.2-py3-none-any.whl", **files: str) -> Path:
    info = "acme_tools-1.2.dist-info"
    members = {
        "acme_tools/__init__.py": "ANSWER = 42\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: acme-tools\nVersion: 1.2\n",
        f"{info}/RECORD": "",
        "acme_tools-1.2.data/purelib/acme_more.py": "MORE = 1\n",
        "acme_tools-1.2.data/scripts/acme": "#!python\n",
        **files,
    }
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as file:
        for member, text in members.items():
            file.writestr(member, text)
    return folder / name


def load(packed: Packed, **files: tuple[str, ...]) -> None:
    """Does what a worker does before it loads a bundle's nodes."""
    opened = open_bundle(packed.path, Files(code=(ALLOWED,), **files))
    graph = check_text(opened.text, KINDS, opened.files, parameters=opened.parameters)
    user_code.use_code_of(graph.nodes)


def test_an_ensemble_runs_with_the_code_of_its_bundle_alone(
    ensemble: Path, pack_file: Pack, tmp_path: Path
) -> None:
    packed = pack_file(ensemble, code=[str(ensemble.parent / "sized_team")])
    assert packed.manifest.code == ("sized_team",)
    shutil.rmtree(ensemble.parent)
    done = subprocess.run(
        [sys.executable, "-c", RUN, packed.path], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout == "['hello, large']\n", done.stderr


def test_code_needs_a_bundle_that_somebody_vouches_for(
    ensemble: Path, pack_file: Pack, tmp_path: Path
) -> None:
    packed = pack_file(ensemble, code=[str(ensemble.parent / "sized_team")])
    with pytest.raises(InvalidEnsemble) as refused:
        load(packed)
    (problem,) = refused.value.problems
    assert problem.code == "untrusted_code"
    assert f"--trust bundle:{packed.digest}" in problem.message
    load(packed, trusted=(f"bundle:{packed.digest}",))
    load(packed, trusted=(str(tmp_path),))


def test_names_of_code_are_allowed_one_by_one_as_ever(
    ensemble: Path, pack_file: Pack, tmp_path: Path
) -> None:
    packed = pack_file(ensemble, code=[str(ensemble.parent / "sized_team")])
    opened = open_bundle(packed.path, Files(trusted=(str(tmp_path),)))
    with pytest.raises(InvalidEnsemble, match="untrusted_code"):
        check_text(opened.text, KINDS, opened.files)


def test_another_module_of_that_name_is_noticed(ensemble: Path, pack_file: Pack, tmp_path: Path) -> None:
    packed = pack_file(ensemble, code=[str(ensemble.parent / "sized_team")])
    with _importable(ensemble.parent):
        __import__("sized_team.words")
        with pytest.raises(InvalidEnsemble) as refused:
            load(packed, trusted=(str(tmp_path),))
    assert refused.value.problems[0].code == "code_conflict"


def test_a_wheel_is_unpacked_as_an_installer_does(ensemble: Path, pack_file: Pack, tmp_path: Path) -> None:
    packed = pack_file(
        ensemble,
        code=[str(ensemble.parent / "sized_team"), str(wheel(tmp_path))],
        requirements=needs(tmp_path),
    )
    assert packed.manifest.code == ("acme_more", "acme_tools", "sized_team")
    names = set(packed.manifest.files)
    assert {
        "code/acme_tools/__init__.py",
        "code/acme_more.py",
        "code/acme_tools-1.2.dist-info/METADATA",
    } <= names
    assert not any("scripts" in name for name in names)
    load(packed, trusted=(str(tmp_path),))
    assert __import__("acme_tools").ANSWER == 42


def needs(
    folder: Path, text: str = "# ours\nacme-tools >= 1.0, < 2  # the tools\nnumpy; python_version < '3'\n"
) -> str:
    path = folder / "requirements.txt"
    path.write_text(text)
    return str(path)


def test_what_the_code_needs_and_the_worker_lacks_is_named(
    ensemble: Path, pack_file: Pack, tmp_path: Path
) -> None:
    lines = "numpy<1\nno-such-thing==2.0 \\\n    --hash=sha256:00\nscikit-learn>=1\n"
    packed = pack_file(ensemble, requirements=needs(tmp_path, lines))
    assert packed.manifest.requirements == ("no-such-thing==2.0", "numpy<1", "scikit-learn>=1")
    with pytest.raises(InvalidEnsemble) as refused:
        load(packed, trusted=(str(tmp_path),))
    (problem,) = refused.value.problems
    assert problem.code == "missing_requirement"
    assert "no-such-thing==2.0 (not installed), numpy<1 (it has " in problem.message
    assert "scikit-learn" not in problem.message


def test_a_wheel_for_other_machines_is_refused_on_the_worker(
    ensemble: Path, pack_file: Pack, tmp_path: Path
) -> None:
    other = wheel(tmp_path, "acme_tools-1.2-cp27-cp27m-win32.whl")
    packed = pack_file(ensemble, code=[str(other)])
    with pytest.raises(InvalidEnsemble, match="is not for this worker"):
        load(packed, trusted=(str(tmp_path),))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("none", "there is no 'none'"),
        ("none.whl", "is not a readable wheel"),
        ("names.txt", "must be a package folder, a module"),
        ("models", "has no __init__.py"),
        ("json", "would hide the one that workers need"),
        ("beam_ensembles.py", "would hide the one that workers need"),
    ],
)
def test_what_is_no_code_is_refused(
    path: str, said: str, ensemble: Path, pack_file: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ensemble.parent)
    Path("json").mkdir()
    Path("json", "__init__.py").touch()
    Path("beam_ensembles.py").touch()
    with pytest.raises(EnsembleError, match=said):
        pack_file(ensemble, code=[path])


def test_a_wheel_that_leads_out_of_its_folder_is_refused(
    ensemble: Path, pack_file: Pack, tmp_path: Path
) -> None:
    with pytest.raises(EnsembleError, match="is not a valid name of a file in it"):
        pack_file(ensemble, code=[str(wheel(tmp_path, **{"../../evil.py": ""}))])


def test_caches_and_hidden_files_stay_behind(ensemble: Path, pack_file: Pack) -> None:
    team = ensemble.parent / "sized_team"
    for name in ("__pycache__/words.cpython-311.pyc", ".git/config", ".env"):
        (team / name).parent.mkdir(exist_ok=True)
        (team / name).write_text("secret")
    packed = pack_file(ensemble, code=[str(team)])
    code = sorted(name for name in packed.manifest.files if name.startswith("code/"))
    assert code == [f"code/sized_team/{name}" for name in ("__init__.py", "greetings.py", "words.py")]


@pytest.mark.parametrize(
    "line", ["-r other.txt", "--index-url https://x", "x @ https://e.com/x.whl", "not a name"]
)
def test_requirements_are_names_and_versions(
    line: str, ensemble: Path, pack_file: Pack, tmp_path: Path
) -> None:
    with pytest.raises(EnsembleError, match="line 1: "):
        pack_file(ensemble, requirements=needs(tmp_path, line))


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
