"""Single metrics become those of nodes, and a table that is the same in all languages."""

from __future__ import annotations

import json
from pathlib import Path

from beam_ensembles.metrics import Distribution, EnsembleMetrics, InputMetrics, NodeMetrics
from beam_ensembles.metrics.collecting import Key, Value, collected

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics"


def golden() -> tuple[EnsembleMetrics, ...]:
    """Returns the golden metrics, as a reader of a runner's answer puts them together."""
    values: dict[Key, Value] = {}
    for one in json.loads((GOLDEN / "metrics.json").read_text(encoding="utf-8")):
        key = Key(one["step"], one["namespace"], one["name"])
        if "counter" in one:
            values[key] = one["counter"]
        elif one["distribution"][0]:
            values[key] = Distribution(*one["distribution"])
    return collected(values)


def test_the_table_is_the_golden_one() -> None:
    table = "".join(f"{one}\n" for one in golden())
    assert table == (GOLDEN / "table.txt").read_text(encoding="utf-8")


def test_the_data_is_the_golden_one() -> None:
    expected = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
    assert {"ensembles": [one.as_data() for one in golden()]} == expected


def test_steps_of_one_node_are_added_up() -> None:
    fraud, _ = golden()
    forest = fraud.node("forest")
    assert forest.num_inferences == 98
    assert forest.inference_request_batch_size == Distribution(4, 100, 1, 46)


def test_a_node_that_has_counted_nothing_has_zeros() -> None:
    fraud, _ = golden()
    assert fraud.node("absent") == NodeMetrics("absent")
    assert fraud.node("absent").as_data()["inference_request_batch_size"] is None


def test_an_input_that_was_not_compared_has_zeros() -> None:
    fraud, _ = golden()
    assert fraud.input("absent") == InputMetrics("absent")
    assert fraud.input("absent").windows == 0


def test_what_an_inputs_namespace_holds_of_others_is_not_ours() -> None:
    found = collected({
        Key("s", "e/inputs.x", "num_inferences"): 7,
        Key("s", "e/inputs.x", "population_stability_index_millionths"): 7,
        Key("s", "e/inputs.x", "null_rows"): Distribution(1, 1, 1, 1),
    })  # fmt: skip
    assert found == ()


def test_a_name_of_ours_with_a_value_of_another_kind_is_not_ours() -> None:
    found = collected({
        Key("s", "e/n", "num_inferences"): Distribution(1, 1, 1, 1),
        Key("s", "e/n", "model_byte_size"): 7,
        Key("s", "e", "refreshes"): Distribution(1, 1, 1, 1),
    })  # fmt: skip
    assert found == ()


def test_a_name_with_control_characters_stays_on_its_line() -> None:
    key = Key("", "e\n\x1b[31m/n\u2028ode", "num_inferences")
    arm = Key("", "e\n\x1b[31m/n\u2028ode", "arm_\x85x")
    (found,) = collected({key: 1, arm: 2})
    title, _, row = str(found).split("\n")
    assert title == r"ensemble 'e\n\u001b[31m'"
    assert row.startswith(r"n\u2028ode")
    assert row.isprintable()
