"""Untrusted skops and safetensors files: what the service reads before anything is loaded, and which need trust."""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import joblib.parallel
import numpy as np
import pytest
import skops.io
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
)
from beam_ensembles.handlers.pytorch.files import format_of
from beam_ensembles.handlers.sklearn import skops_header
from beam_ensembles.handlers.sklearn.skops_header import read_header
from beam_ensembles.handlers.sklearn.skops_objects import check_objects
from beam_ensembles.handlers.xgboost.header import read_header as read_booster
from beam_ensembles.registry import KINDS
from tests.support.fuzzing import EXAMPLES, Target, fuzz, mutated, target
from tests.support.models import iris
from tests.support.nodes import check_node, problems_of

FOUR: Final = {"x": "array<double>[4]"}
NODE: Final[dict[str, Any]] = {
    "model": "sklearn",
    "uri": "model.skops",
    "inputs": ["x"],
    "outputs": {"y": "int64"},
}


def _fewer_columns(model: KMeans) -> None:
    model.cluster_centers_ = np.ones((3, 1))


def _fewer_features(model: KNeighborsClassifier) -> None:
    model._fit_X = np.ones((150, 1))


def _other_categories(model: OneHotEncoder) -> None:
    model._n_features_outs = [0] * 4


def _nothing(model: SVC) -> None:
    """Support vectors are read by libsvm, in C."""


COMPILED: Final[list[tuple[Any, Callable[[Any], None]]]] = [
    (KMeans(3, n_init=1), _fewer_columns),
    (KNeighborsClassifier(algorithm="brute"), _fewer_features),
    (OneHotEncoder(), _other_categories),
    (SVC(), _nothing),
]


@pytest.mark.parametrize(("model", "lie"), COMPILED, ids=lambda one: type(one).__name__)
def test_models_whose_compiled_code_believes_the_file_need_trust(
    tmp_path: Path, model: Any, lie: Callable[[Any], None]
) -> None:
    lie(model.fit(iris().x, iris().y))
    (tmp_path / "model.skops").write_bytes(skops.io.dumps(model))
    node = NODE | ({"method": "transform"} if isinstance(model, OneHotEncoder) else {})
    assert ("untrusted_file", "uri") in problems_of(tmp_path, FOUR, node, trust=False)


def test_a_file_that_a_worker_sees_first_is_held_to_the_same(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    path.write_bytes(skops.io.dumps(LogisticRegression(max_iter=500).fit(iris().x, iris().y)))
    checked = check_node(tmp_path, FOUR, NODE, trust=False)
    path.write_bytes(skops.io.dumps(KMeans(3, n_init=1).fit(iris().x)))
    with pytest.raises(InvalidEnsemble, match=r"untrusted_file.*sklearn.cluster._kmeans.KMeans"):
        KINDS["model", "sklearn"].load(checked)
    path.write_bytes(b"no archive")
    with pytest.raises(InvalidEnsemble, match="bad_model_file"):
        KINDS["model", "sklearn"].load(checked)


def test_an_untrusted_file_starts_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 6 kB whose ``n_jobs`` is 1,000 would have joblib start a thousand Pythons."""
    model = BaggingClassifier(GaussianNB(), n_estimators=2, n_jobs=2, random_state=0)
    with joblib.parallel_config("sequential"):
        wanted = model.fit(iris().x, iris().y).predict(iris().x)
    (tmp_path / "model.skops").write_bytes(skops.io.dumps(model))
    started: list[int] = []

    class Started(joblib.parallel.SequentialBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            started.append(n_jobs)
            return 1

    monkeypatch.setitem(joblib.parallel.BACKENDS, "loky", Started)
    pin = {"sha256": hashlib.sha256((tmp_path / "model.skops").read_bytes()).hexdigest()}
    for more, is_vouched_for in (({}, False), (pin, True)):
        loaded = KINDS["model", "sklearn"].load(check_node(tmp_path, FOUR, NODE | more, trust=False))
        np.testing.assert_array_equal(loaded({"x": iris().x})["y"], wanted)
        assert bool(started) == is_vouched_for


def test_an_archive_that_unpacks_to_gigabytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skops_header, "_MOST_UNPACKED", 1 << 24)  # of 1 GiB, to save time
    path = tmp_path / "model.skops"
    path.write_bytes(skops_file())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", bytes((1 << 24) + 1))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(ModelFormatError, match="would unpack to"):
        read_header(str(path))


@functools.cache
def skops_file() -> bytes:
    """A model that needs no trust."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(iris().x, iris().y)
    data: bytes = skops.io.dumps(model)
    return data


@functools.cache
def schema() -> bytes:
    """The tree of objects in it."""
    return zipfile.ZipFile(io.BytesIO(skops_file())).read("schema.json")


def with_schema(data: bytes) -> bytes:
    """The same archive with another tree of objects."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(skops_file())) as old, zipfile.ZipFile(found, "w") as new:
        for name in old.namelist():
            new.writestr(name, data if name == "schema.json" else old.read(name))
    return found.getvalue()


def attack_skops(data: bytes) -> Any:
    """Reads a header, and loads what needs no trust as a worker does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        path.write_bytes(data)
        header = read_header(str(path))
        if header.untrusted or skops.io.get_untrusted_types(file=path):
            return header.untrusted
        return np.shape(skops.io.load(path).predict(np.ones((3, 4))))


_WHY: Final = "may name auto|start at 700 of 624|sets 'where'|something else for 'predict'"


@functools.cache
def _stacked() -> Any:
    inner = GaussianNB().fit(iris().x, iris().y)
    model = StackingClassifier([("a", inner)], GaussianNB(), cv="prefit").fit(iris().x, iris().y)
    model.named_estimators_ = {}  # a Bunch needs trust
    return model


def _any_method(_: Path) -> Any:
    model = copy.copy(_stacked())
    model.stack_method_ = ["fit"]
    return model


def _any_method_of_a_chain(_: Path) -> Any:
    chain = ClassifierChain(GaussianNB())
    chain.chain_method_, chain.estimators_ = "fit", [GaussianNB()]
    return chain


def _other_memory(_: Path) -> Any:
    numbers = np.random.RandomState(0)
    model = DummyClassifier(strategy="uniform", random_state=numbers).fit(iris().x, iris().y)
    numbers.set_state(("MT19937", numbers.get_state()[1], 700, 0, 0.0))
    return model


def _within_an_array(folder: Path) -> Any:
    model = GaussianNB().fit(iris().x, iris().y)
    model.note = np.array([None, {"a": (_other_memory(folder),)}], dtype=object)
    return model


def _unwritten_memory(_: Path) -> Any:
    return make_pipeline(FunctionTransformer(np.negative, kw_args={"where": False}), GaussianNB())


def _no_method_of_its_own(_: Path) -> Any:
    model = GaussianNB().fit(iris().x, iris().y)
    model.predict = np.negative  # which takes 'where' from inference_args
    return model


@pytest.mark.parametrize(
    "lie",
    [
        _any_method, _any_method_of_a_chain, _other_memory, _within_an_array, _unwritten_memory,
        _no_method_of_its_own,
    ],
)  # fmt: skip
def test_objects_of_known_types_that_do_something_else_are_refused(
    tmp_path: Path, lie: Callable[[Path], Any]
) -> None:
    (tmp_path / "model.skops").write_bytes(skops.io.dumps(lie(tmp_path)))
    checked = check_node(tmp_path, FOUR, NODE, trust=False)
    with pytest.raises(InvalidEnsemble, match=f"bad_model_file.*({_WHY})"):
        KINDS["model", "sklearn"].load(checked)


def test_an_untrusted_file_keeps_no_files(tmp_path: Path) -> None:
    """``fit`` writes pickles to a pipeline's folder, and reads those that it finds there."""
    model = _stacked()
    model.note = make_pipeline(GaussianNB(), memory=str(tmp_path / "kept"))
    (tmp_path / "model.skops").write_bytes(skops.io.dumps(model))
    loaded = skops.io.load(tmp_path / "model.skops")
    check_objects(loaded)
    assert loaded.note.memory is None
    np.testing.assert_array_equal(loaded.predict(iris().x), model.predict(iris().x))


def test_generators_of_numpy_need_trust(tmp_path: Path) -> None:
    model = GaussianNB().fit(iris().x, iris().y)
    model.note = np.random.default_rng(0)
    (tmp_path / "model.skops").write_bytes(skops.io.dumps(model))
    assert ("untrusted_file", "uri") in problems_of(tmp_path, FOUR, NODE, trust=False)


@pytest.fixture(scope="module")
def skops_worker() -> Iterator[Target]:
    with target(f"{__name__}:attack_skops", most_bytes=2 << 30) as found:
        yield found


_ARCHIVES: Final = st.deferred(lambda: st.one_of(mutated(skops_file()), mutated(schema()).map(with_schema)))


@fuzz(_ARCHIVES, examples=EXAMPLES // 6)
def test_a_mutated_skops_file_never_ends_the_process(skops_worker: Target, data: bytes) -> None:
    outcome = skops_worker.attack(data)
    assert outcome.kind in ("answered", "raised"), outcome


@fuzz(_ARCHIVES)
def test_a_mutated_skops_file_has_a_header_or_is_none(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".skops") as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(ModelFormatError):
            read_header(file.name)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"__class__":' * 50_000, '"' + "x" * 100, "9" * 5000])
def test_a_tree_of_objects_that_json_cannot_hold_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.skops").write_bytes(with_schema(text.encode()))
    with pytest.raises(ModelFormatError):
        read_header(str(tmp_path / "model.skops"))


def safetensors(spans: list[list[int]], data: bytes, dtype: str = "F32") -> bytes:
    """Writes a file of tensors that lie as given."""
    header = {f"t{at}": {"dtype": dtype, "shape": [1], "data_offsets": span} for at, span in enumerate(spans)}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


GOOD: Final = safetensors([[0, 4], [4, 8]], b"\0" * 8)


def format_in(folder: Path, data: bytes) -> str:
    path = folder / "weights"
    path.write_bytes(data)
    return format_of(str(path), has_class=True)


def test_tensors_one_after_the_other_pass(tmp_path: Path) -> None:
    assert format_in(tmp_path, GOOD) == "safetensors"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (safetensors([[0, 8], [4, 8]], b"\0" * 8), "overlap or leave a gap"),
        (safetensors([[0, 4], [6, 8]], b"\0" * 8), "overlap or leave a gap"),
        (safetensors([[-4, 4], [4, 8]], b"\0" * 8), "overlap or leave a gap"),
        (safetensors([[0, 4], [4, 2**62]], b"\0" * 8), "its tensors end at byte"),
        (safetensors([[0, 4, 8]], b"\0" * 8), "overlap or leave a gap"),
        (struct.pack("<Q", 2**63) + GOOD[8:], "its header would be"),
        (struct.pack("<Q", 1 << 25) + GOOD[8:], "its header would be"),
        (struct.pack("<Q", 10) + GOOD[8:], "is not that of a safetensors file"),
        (struct.pack("<Q", 10**6) + b'{"a":' * 200_000, "is not that of a safetensors file"),
    ],
)
def test_a_header_of_tensors_that_lies_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(ModelFormatError, match=said):
        format_in(tmp_path, data)


@fuzz(mutated(GOOD))
def test_a_mutated_file_of_tensors_is_one_or_is_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ModelFormatError):
        format_in(Path(folder), data)


def test_names_of_features_nested_too_deep_are_no_names(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    tail = b',"learner_model_param":{"num_feature":"4"},"objective":{"name":"reg:squarederror"}}}'
    path.write_bytes(b'{"learner":{"feature_names":' + b"[" * 100_000 + tail)
    assert read_booster(str(path)).names is None
