"""How a node's model is called: several answers a row, once per row, in several calls, in processes of its own."""

from __future__ import annotations

import numpy as np
import pytest

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.support.member import BeamMember
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.model import Inputs, NodeSpec
from beam_ensembles.types import parse_type

PAIR = {"x": "array<float>[2]"}
DOUBLE = {"model": "onnx", "uri": "double.onnx", "inputs": ["x"], "outputs": {"y": None}}


def node(outputs: dict[str, str], **options: object) -> CheckedNode:
    spec = NodeSpec("n", "model", "python", Inputs(("x",)), (), options)
    return CheckedNode(
        spec, KINDS[spec.kind, spec.target], {}, {name: parse_type(type_) for name, type_ in outputs.items()}
    )


def test_samples_are_put_together_row_by_row() -> None:
    several = node({"y": "array<float>", "z": "array<string>", "w": "array<float>[3]"}, samples=3)
    texts = [f"{row}{sample}" for row in "ab" for sample in "123"]
    columns = to_columns(several, {"y": np.arange(6.0), "z": texts, "w": np.arange(6)}, 2)
    assert columns["y"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert columns["z"].tolist() == [["a1", "a2", "a3"], ["b1", "b2", "b3"]]
    assert columns["w"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("count", [2, 5, 7])
def test_another_number_of_samples_is_misaligned(count: int) -> None:
    with pytest.raises(NodeError, match=f"gave {count} items for 2 rows") as caught:
        to_columns(node({"y": "array<float>"}, samples=3), {"y": np.zeros(count)}, 2)
    assert caught.value.code == "misaligned"


@pytest.mark.parametrize(
    ("answer", "type_", "wanted"),
    [
        (np.array([[1, 2, 3]]), "array<float>", [1, 2, 3]),
        (np.array([1, 2, 3]), "array<float>", [1, 2, 3]),
        (np.array([[1], [2], [3]]), "array<float>", [1, 2, 3]),
        (np.array([[5]]), "double", 5.0),
        (np.array([[1, 2]]), "array<double>[2]", [1.0, 2.0]),
        (["a", "b"], "array<string>", ["a", "b"]),
    ],
)
def test_what_one_call_gives_belongs_to_its_row(answer: object, type_: str, wanted: object) -> None:
    assert to_columns(node({"y": type_}, per_row=True), {"y": answer}, 1)["y"].tolist() == [wanted]


class Handler:
    """Stands in for Beam's: gives what it was called with."""

    class Result:
        def __init__(self, inference: object) -> None:
            self.inference = inference

    def run_inference(self, batch: list[object], model: object, inference_args: object) -> list[object]:
        return [self.Result(one) for one in batch]


def test_the_rows_lists_are_the_batch_of_its_call() -> None:
    per_row = node({"n": "int64", "first": "string"}, per_row=True)
    seen: list[tuple[object, ...]] = []

    def write(answer: Columns, rows: int) -> Columns:
        seen.append(tuple(values.shape for values in answer.values()))
        return to_columns(per_row, {"n": len(answer["tokens"]), "first": answer["texts"][0]}, rows)

    member = BeamMember(Handler(), None, {}, read=lambda columns: columns, write=write, per_row=True)
    tokens = np.fromiter(([[1, 2], [3, 4], [5, 6]], [[7]]), dtype=object, count=2)
    texts = np.fromiter((["a", "b"], ["c"]), dtype=object, count=2)
    answer = member({"tokens": tokens, "texts": texts, "image": np.zeros((2, 3, 4))})
    assert seen == [((3, 2), (2,), (1, 3, 4)), ((1, 1), (1,), (1, 3, 4))]
    assert answer["n"].tolist() == [3, 1]
    assert answer["first"].tolist() == ["a", "c"]
