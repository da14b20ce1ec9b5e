"""A node's ``config``: the keyword arguments of Beam's own handler, and which of them can be honoured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeGuard

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.options import Mistake, Options, option
from beam_ensembles.graph.shared_options import SampleOptions
from beam_ensembles.handlers.support.cache_options import CacheOptions
from beam_ensembles.limits import LARGEST_COUNT, LONGEST_WAIT, MOST_COPIES, MOST_RETRIES
from beam_ensembles.spec.places import below


class BatchOptions(Options):
    """How many rows one call gets."""

    batch: Mapping[str, Any] = option(
        {},
        "{max: ROWS, max_bytes: BYTES}: what one call gets at most; {min: ROWS, max_wait: SECONDS}: rows are put "
        "together.",
        last=True,
    )

    def mistakes(self) -> Iterator[Mistake]:
        """Finds keys of ``batch`` that it does not have, and numbers of rows, bytes and seconds that cannot be."""
        yield from super().mistakes()
        for key, value in self.batch.items():
            if key == "max_wait":
                if (
                    isinstance(value, bool)
                    or not isinstance(value, int | float)
                    or not 0 < value <= LONGEST_WAIT
                ):
                    wanted = f"a number of seconds above 0, at most {LONGEST_WAIT}"
                    text = f"'max_wait' is {value!r}; it is {wanted}"
                    yield Mistake(below("batch", "max_wait"), "bad_value", text)
            elif key not in BATCH_KEYS:
                text = f"'batch' takes no key {key!r}{nearest(str(key), BATCH_KEYS)} (keys: {listed(BATCH_KEYS)})"
                yield Mistake(below("batch", str(key)), "unknown_option", text)
            elif not _is_count(value) or value > (LARGEST_COUNT if key == "min" else value):
                limit = f", and 'min' of {LARGEST_COUNT:,} at most"
                text = f"'{key}' is {value!r}; it is a whole number of at least 1{limit}"
                yield Mistake(below("batch", key), "bad_value", text)
        least, most = self.batch.get("min"), self.batch.get("max")
        if _is_count(least) and _is_count(most) and least > most:
            text = f"'min' is {least}, more than 'max', which is {most}"
            yield Mistake(below("batch", "min"), "bad_value", text)


class ConfigOptions(Options):
    """What Beam's own handler is made with."""

    config: Mapping[str, Any] = option(
        {}, "Keyword arguments of Beam's own model handler, as they are.", last=True
    )


class ArgumentOptions(Options):
    """What each call of the model is given besides its batch."""

    inference_args: Mapping[str, Any] = option(
        {}, "Arguments of each call of the model, as Beam's run_inference takes them.", last=True
    )


class TrialOptions(Options):
    """Whether a model is tried when it is loaded."""

    trial: bool = option(
        True,
        "Ask the model a few made-up rows when it is loaded, to find what would fail or mislead in a pipeline.",
        last=True,
    )


class CallOptions(CacheOptions, TrialOptions, ArgumentOptions, ConfigOptions, SampleOptions, BatchOptions):
    """How a model is called that runs on the worker."""


class DeviceOptions(Options):
    """What a model runs on."""

    device: str | None = option(
        None,
        "The device that runs the model; auto takes a GPU if there is one.",
        choices=("auto", "cpu", "gpu"),
        shown="auto",
        last=True,
    )


class AttemptOptions(Options):
    """How long what runs elsewhere may take, and how often it is tried."""

    timeout: float | None = option(None, "Seconds that one call of the server may take.", last=True)
    retries: int | None = option(
        None,
        "How often a call that failed in passing is made again.",
        last=True,
    )

    def mistakes(self) -> Iterator[Mistake]:
        """Finds numbers of seconds and of calls that cannot be."""
        yield from super().mistakes()
        retries, timeout = self.retries, self.timeout
        if retries is not None and not 0 <= retries <= MOST_RETRIES:
            text = f"'retries' is {retries}; allowed: 0 to {MOST_RETRIES}"
            yield Mistake("retries", "bad_value", text)
        if timeout is not None and not 0 < timeout <= LONGEST_WAIT:
            text = f"'timeout' is {timeout}; it is a number of seconds above 0, at most {LONGEST_WAIT:,}"
            yield Mistake("timeout", "bad_value", text)


def batch_of(options: Options) -> Mapping[str, Any]:
    """Returns a node's ``batch``; empty where it has none."""
    return options.batch if isinstance(options, BatchOptions) else {}


def config_of(options: Options) -> Mapping[str, Any]:
    """Returns a node's ``config``; empty where it has none."""
    return options.config if isinstance(options, ConfigOptions) else {}


def arguments_of(options: Options) -> Mapping[str, Any]:
    """Returns a node's ``inference_args``; empty where it has none."""
    return options.inference_args if isinstance(options, ArgumentOptions) else {}


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_text_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(text, str) for pair in value.items() for text in pair
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """A keyword argument of a Beam handler that is honoured.

    Attributes:
        accepts: The allowed values, for people.
        is_valid: Whether a value is one of them.
    """

    accepts: str
    is_valid: Callable[[Any], bool]


A_TRUTH: Final = Accepted("true or false", lambda value: isinstance(value, bool))
A_WHOLE_NUMBER: Final = Accepted(
    "a whole number of 32 bits",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31,
)
SOME_THREADS: Final = Accepted("a whole number of 1 to 256", lambda value: _is_count(value) and value <= 256)
"""What arguments of calls take (``check_arguments``)."""

HONOURED: Final[Mapping[str, Accepted]] = {
    "max_batch_size": Accepted("a whole number of at least 1", _is_count),
    "env_vars": Accepted("a mapping of texts to texts", _is_text_mapping),
    "large_model": Accepted("true or false", lambda value: isinstance(value, bool)),
    "model_copies": Accepted(
        f"a whole number of 1 to {MOST_COPIES}", lambda value: _is_count(value) and value <= MOST_COPIES
    ),
}
"""Arguments that every handler of Beam takes and that are honoured for each node by itself."""

BATCH_KEYS: Final = ("min", "max", "max_bytes", "max_wait")

_ROWS_COME_TOGETHER: Final = "all nodes of a stage are given the same rows together"
REFUSED: Final[Mapping[str, str]] = {
    "min_batch_size": f"{_ROWS_COME_TOGETHER}; 'max_batch_size' limits what one call of the model gets",
    "max_batch_duration_secs": f"{_ROWS_COME_TOGETHER}, a bundle's; leave it out",
    "max_batch_weight": f"{_ROWS_COME_TOGETHER}; use 'max_batch_size'",
    "element_size_fn": "a function cannot be written in a file; use 'max_batch_size'",
    "batch_length_fn": "a function cannot be written in a file; use 'max_batch_size'",
    "batch_bucket_boundaries": "rows are never sorted by length; use 'max_batch_size'",
    "inference_fn": "a function cannot be written in a file; 'method' says what is called",
}
"""Arguments of every handler of Beam that a fused stage cannot honour, with what to do instead."""


def check_config(
    node: NodeView[ConfigOptions], honoured: Mapping[str, Accepted], refused: Mapping[str, str]
) -> None:
    """Reports what cannot be in a node's ``config``.

    Args:
        node: The node.
        honoured: The arguments that its handler takes and that are honoured.
        refused: Those that it takes and that are not, with what to do instead.
    """
    for name, value in node.options.config.items():
        place = below("config", name)
        if name in refused:
            node.problem("unsupported_option", place, f"'{name}' cannot be honoured here: {refused[name]}")
        elif name not in honoured:
            allowed = f"allowed: {listed(sorted(honoured))}"
            node.problem(
                "unknown_option", place, f"unknown argument '{name}'{nearest(name, honoured)} ({allowed})"
            )
        elif not honoured[name].is_valid(value):
            node.problem("bad_value", place, f"'{name}' is {value!r}; allowed: {honoured[name].accepts}")


def check_arguments(node: NodeView[ArgumentOptions], known: Mapping[str, Accepted]) -> None:
    """Reports ``inference_args`` that are not known, which a library may take for settings, and values of the others.

    Args:
        node: The node.
        known: What each argument takes.
    """
    for name, value in node.options.inference_args.items():
        place = below("inference_args", name)
        if name not in known:
            allowed = f"allowed: {listed(sorted(known))}"
            text = f"unknown argument '{name}'{nearest(name, known)} ({allowed})"
            node.problem("unknown_option", place, text)
        elif not known[name].is_valid(value):
            node.problem("bad_value", place, f"'{name}' is {value!r}; allowed: {known[name].accepts}")


def batch_size(node: CheckedNode, default: int) -> int:
    """Returns the number of rows in a batch of a node that batches rows: ``batch.max``, or a larger ``min``.

    Where the node says neither, its kind may want more than the default.
    """
    limit, least = batch_limit(node), batch_of(node.options).get("min")
    if limit is None and least is None:
        return max(default, node.kind.batch_rows(node))
    return max(limit or default, least or 1)


def bytes_limit(node: CheckedNode) -> int | None:
    """Returns the most bytes that one call of a node may get, or None."""
    found = batch_of(node.options).get("max_bytes")
    return None if found is None else int(found)


def call_limit(node: CheckedNode) -> int | None:
    """Return the most rows that one call of a node gets, or None: what it says (``batch_limit``), or its kind does."""
    limit, default = batch_limit(node), node.kind.call_rows
    return batch_size(node, default) if limit is None and default is not None else limit


def batch_limit(node: CheckedNode) -> int | None:
    """Returns the most rows that a node says one call of it may get, or None.

    That is the smaller of ``batch.max`` and of ``max_batch_size`` in its ``config``.
    """
    limits = (batch_of(node.options).get("max"), config_of(node.options).get("max_batch_size"))
    return min((limit for limit in limits if limit is not None), default=None)
