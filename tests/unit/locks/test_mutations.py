"""``diff`` finds every seeded change of models and files, and says nothing of models that were only packed again."""

from __future__ import annotations

import io
import pickle
import shutil
from pathlib import Path

import joblib
import pytest

from tests.support import locked_flowers as flowers
from tests.support.locked_flowers import CHANGES, FILE, Change, text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files with their lock."""
    folder = tmp_path_factory.mktemp("flowers")
    flowers.write(folder)
    flowers.lock(folder)
    return folder


CONTRACT: dict[str, tuple[str, Change]] = {
    "a dtype": (
        "'scores' was array<double>[3] and is array<float>[3]",
        text("scores: {from: probabilities}}", 'scores: {from: probabilities, type: "array<float>[3]"}}'),
    ),
    "an output that became nullable": (
        "'unsure' became nullable",
        text("{unsure: boolean}", '{unsure: "boolean?"}'),
    ),
    "an output that is gone": (
        "'confidence' is gone",
        text("outputs: [species, confidence, scores", "outputs: [species, scores"),
    ),
    "an output that is renamed": (
        "'lane' is gone",
        lambda folder: (folder / "flowers.yaml").write_text(
            FILE.replace("{lane: string}", "{way: string}").replace("unsure, lane]", "unsure, way]")
        ),
    ),
    "outputs in another order": (
        "stand in another order",
        text("outputs: [species, confidence", "outputs: [confidence, species"),
    ),
    "an input that is new": (
        "input 'more' (double) is new",
        lambda folder: (folder / "flowers.yaml").write_text(
            FILE.replace("note: string}", "note: string, more: double}").replace("< 0.7", "< more")
        ),
    ),
}


def changed(made: Path, folder: Path, change: Change) -> Path:
    """Returns the ensemble file of a copy that was changed."""
    copy = folder / "new"
    shutil.copytree(made, copy, ignore=shutil.ignore_patterns("*.lock.*"))
    change(copy)
    return copy / "flowers.yaml"


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_behaviour_is_found_at_the_node_where_it_begins(
    name: str, made: Path, tmp_path: Path
) -> None:
    node, change = CHANGES[name]
    report = flowers.compare(made / "flowers.lock.yaml", changed(made, tmp_path, change))
    assert not report.is_same
    assert report.behaviour is not None
    assert node in [one.node for one in report.behaviour.causes]
    assert report.reasons(node), "what differs of the node is said"


@pytest.mark.parametrize("name", CONTRACT)
def test_a_change_of_the_contract_is_found_and_beyond_every_limit(
    name: str, made: Path, tmp_path: Path
) -> None:
    said, change = CONTRACT[name]
    report = flowers.compare(made / "flowers.lock.yaml", changed(made, tmp_path, change))
    assert any(said in one.text and one.breaks for one in report.found)
    assert any(said in one for one in report.beyond)


def test_models_that_were_only_packed_again_are_the_same(made: Path, tmp_path: Path) -> None:
    """Fifty copies: other compressions, protocols and libraries that pickle, and an object that was loaded before."""
    copy = changed(made, tmp_path, lambda folder: (folder / "flowers.yaml").write_text(f"# a remark\n{FILE}"))
    names = ("linear", "forest", "words")
    for at in range(50):
        for name in names:
            found = joblib.load(made / f"{name}.joblib")
            if at % 2:
                file = io.BytesIO()
                pickle.dump(found, file, protocol=2 + at % 4)
                found = pickle.loads(file.getvalue())
            if at % 5 == 4:
                (copy.parent / f"{name}.joblib").write_bytes(pickle.dumps(found))
            else:
                joblib.dump(found, copy.parent / f"{name}.joblib", compress=at % 4)
        report = flowers.compare(made / "flowers.lock.yaml", copy)
        assert report.behaviour is not None
        assert (report.behaviour.changed, report.behaviour.causes, report.beyond) == (0, (), ())
        assert {one.what for one in report.found} <= {"file"}
