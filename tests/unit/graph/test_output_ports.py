"""Which port a column takes, and which answers a declared type can hold."""

from __future__ import annotations

import pytest

from beam_ensembles.graph.output_ports import holds, port_of
from beam_ensembles.spec.model import OutputSpec
from beam_ensembles.types import parse_type


@pytest.mark.parametrize(
    ("output", "ports", "port"),
    [
        (OutputSpec("y", "p"), ["p", "y"], "p"),
        (OutputSpec("y"), ["p", "y"], "y"),
        (OutputSpec("y"), ["p"], "p"),
        (OutputSpec("y"), ["p", "q"], None),
        (OutputSpec("y", "z"), ["p"], None),
    ],
)
def test_a_column_takes_the_port_that_it_names_else_its_namesake_else_the_only_one(
    output: OutputSpec, ports: list[str], port: str | None
) -> None:
    assert port_of(output, ports) == port


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("double", "float"),
        ("float", "double"),
        ("int32", "int64"),
        ("double", "int32"),
        ("double?", "float"),
        ("double", "array<float>[1]"),
        ("array<double>[2]", "array<float>[2]"),
        ("array<double>", "array<float>[2]"),
        ("array<double>", "array<float>"),
        ("string", "string"),
    ],
)
def test_what_a_declared_type_can_hold(declared: str, given: str) -> None:
    assert holds(parse_type(declared), parse_type(given))


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("int64", "double"),
        ("string", "int64"),
        ("int64", "string"),
        ("boolean", "int64"),
        ("double", "boolean"),
        ("double", "array<double>[2]"),
        ("array<double>[1]", "double"),
        ("array<double>[2,3]", "array<double>[6]"),
        ("array<double>[2]", "array<double>"),
        ("array<string>", "array<int64>"),
    ],
)
def test_what_it_cannot(declared: str, given: str) -> None:
    assert not holds(parse_type(declared), parse_type(given))
