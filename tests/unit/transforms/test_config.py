"""The configuration that clients of every language send."""

from __future__ import annotations

from typing import Any

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.transforms import RunEnsembleConfig
from beam_ensembles.transforms.config import client_problems


def test_what_is_given_is_there_and_the_rest_is_not() -> None:
    config = RunEnsembleConfig.from_mapping(
        {"spec": "x", "pass_through": ["a"], "error_handling": {"output": "bad"}}
    )
    assert (config.spec, config.pass_through, config.error_output) == ("x", ("a",), "bad")
    assert config.columns is None


@pytest.mark.parametrize(
    ("given", "code", "path"),
    [
        ({"spek": "x"}, "unknown_option", "spek"),
        ({"spec": 5}, "wrong_type", "spec"),
        ({"spec": "x", "columns": ["a"]}, "wrong_type", "columns"),
        ({"spec": "x", "columns": {"a": 1}}, "wrong_type", "columns"),
        ({"spec": "x", "pass_through": "a"}, "wrong_type", "pass_through"),
        ({"spec": "x", "error_handling": "errors"}, "wrong_type", "error_handling"),
        ({"spec": "x", "error_handling": {"outputs": "errors"}}, "wrong_type", "error_handling"),
        ({"spec": "x", "error_handling": {"output": "output"}}, "wrong_config", "error_handling.output"),
        ({"spec": "x", "output_schema": "text"}, "wrong_type", "output_schema"),
        ({"spec": "x", "encoding": "arow"}, "wrong_config", "encoding"),
        ({"spec": "x", "encoding": "arrow"}, "wrong_config", "input_schema"),
        ({"spec": "x", "encoding": "arrow", "input_schema": "text"}, "wrong_type", "input_schema"),
        ({}, "wrong_config", "spec"),
        ({"spec": "x", "spec_uri": "y"}, "wrong_config", "spec"),
    ],
)
def test_a_wrong_configuration_names_its_field(given: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        RunEnsembleConfig.from_mapping(given)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [(code, path)]


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(InvalidEnsemble, match="did you mean 'parameters'"):
        RunEnsembleConfig.from_mapping({"spec": "x", "paramters": {}})


@pytest.mark.parametrize(
    ("given", "is_arrow"),
    [({}, False), ({"encoding": "rows"}, False), ({"encoding": "arrow", "input_schema": b""}, True)],
)
def test_rows_cross_as_rows_where_nothing_else_is_said(given: dict[str, Any], is_arrow: bool) -> None:
    assert RunEnsembleConfig.from_mapping({"spec": "x", **given}).is_arrow is is_arrow


@pytest.mark.parametrize(
    ("client", "service", "codes"),
    [
        ("go 0.1.0", "0.1.7", []),
        ("java 1.9.0", "1.2.0", []),
        (None, "0.1.0", []),
        ("go 0.0.9", "0.1.0", ["client_too_old"]),
        ("java 0.2.0", "0.1.0", ["service_too_old"]),
        ("go 2.0.0", "1.9.0", ["service_too_old"]),
        ("go", "0.1.0", ["wrong_config"]),
        ("0.1", "0.1.0", []),
    ],
)
def test_a_client_of_another_release_is_told_what_to_update(
    client: str | None, service: str, codes: list[str]
) -> None:
    assert [problem.code for problem in client_problems(client, service)] == codes
