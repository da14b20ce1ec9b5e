"""The options of a kind as the fields of one class."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from beam_ensembles.graph.options import Option, Options, declared_options, option, read_options


class FileOptions(Options):
    uri: str = option("", "Where it is.", required=True)
    labels: list[Any] | None = option(None, "Of what.", shown="those of the model", last=True)
    trial: bool = option(True, "Whether.", last=True)


class ModelOptions(FileOptions):
    method: str = option("predict", "Which.", choices=("predict", "transform"))
    mode: Literal["a", "b"] = option("a", "How.", choices=("a", "b"))
    seconds: float = option(30.0, "How long.")
    copies: int | None = option(None, "How many.", least=1, most=9)
    config: Mapping[str, Any] = option({}, "What else.")
    key: Any = option(None, "By what.", accepts="columns")


def test_fields_say_what_a_kind_takes() -> None:
    assert declared_options(ModelOptions) == (
        Option("uri", "string", "Where it is.", required=True),
        Option("method", "string", "Which.", choices=("predict", "transform"), default="predict"),
        Option("mode", "string", "How.", choices=("a", "b"), default="a"),
        Option("seconds", "number", "How long.", default="30"),
        Option("copies", "integer", "How many.", least=1, most=9),
        Option("config", "mapping", "What else."),
        Option("key", "columns", "By what."),
        Option("labels", "list", "Of what.", default="those of the model", last=True),
        Option("trial", "boolean", "Whether.", default="true", last=True),
    )
    assert declared_options(Options) == ()


def test_a_node_is_read_with_defaults() -> None:
    found = read_options(ModelOptions, {"uri": "a", "seconds": 3, "retries": 4})
    assert found == ModelOptions(uri="a", seconds=3)
    assert (found.method, found.labels, found.trial, found.config) == ("predict", None, True, {})
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.uri = "b"  # type: ignore[misc]


def test_a_class_may_say_more_of_an_option_of_its_base() -> None:
    class OtherOptions(ModelOptions):
        uri: str = option("", "Where it may be.")
        trial: bool = option(False, "Whether not.")

    found = {one.name: one for one in declared_options(OtherOptions)}
    assert list(found) == ["uri", "trial", "method", "mode", "seconds", "copies", "config", "key", "labels"]
    assert (found["uri"].required, found["uri"].description) == (False, "Where it may be.")
    assert found["trial"].default == "false"


class UnknownType(Options):
    a: complex = option(0j, "A number.")


class NotDeclared(Options):
    a: int = 3


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (UnknownType, r"an option 'a' that accepts 'complex' \(allowed: string, "),
        (NotDeclared, "an option 'a' that is not declared with 'option"),
    ],
)
def test_what_no_option_can_be_is_an_error(declared: type[Options], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        declared_options(declared)
