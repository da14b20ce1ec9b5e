"""Plain data to an ensemble file's text, which reads back as the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from beam_ensembles.errors import WHOLE_FILE, InvalidEnsemble, Problem
from beam_ensembles.spec.yaml_scalars import plain_value

_WIDTH = 110


def yaml_of(data: Any) -> str:
    """Returns data as YAML, its keys in the order that they have.

    Args:
        data: Mappings, lists, texts, numbers, truth values and None.

    Raises:
        InvalidEnsemble: It holds something else, such as numpy's numbers.
    """
    try:
        return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    except yaml.representer.RepresenterError as error:
        value = error.args[-1]
        text = (
            f"{value!r} is a {type(value).__module__}.{type(value).__qualname__}; an ensemble file holds mappings, "
            "lists, texts, numbers, truth values and null"
        )
        raise InvalidEnsemble([Problem(WHOLE_FILE, "syntax", text)]) from error


class _Dumper(yaml.SafeDumper):
    """Writes short lists in one line, no aliases, and quotes texts that would read as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        """Writes what occurs twice twice: an ensemble file has no aliases."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if isinstance(plain_value(text), str) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: yaml.SafeDumper, items: Sequence[Any]) -> yaml.SequenceNode:
    plain = not any(isinstance(item, list | tuple | dict) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=plain)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(tuple, _list)
