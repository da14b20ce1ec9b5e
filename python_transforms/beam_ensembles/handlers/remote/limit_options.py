"""The options by which a node limits the calls of its server: ``rate``, ``budget`` and ``price``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.options import Mistake, option
from beam_ensembles.handlers.remote.budget import PERIODS, Budget, Price
from beam_ensembles.handlers.remote.quota import Quota, Rate
from beam_ensembles.handlers.support.cache_options import CacheOptions
from beam_ensembles.spec.places import below

REQUESTS: Final = "requests_per_minute"
TOKENS: Final = "tokens_per_minute"
_PRICES: Final = ("input", "output", "cached")
_LARGEST: Final = 1e12


class RateOptions(CacheOptions):
    """How often a server may be called; its answers may be kept."""

    rate: Mapping[str, Any] = option(
        {},
        "{requests_per_minute: N}: how often all workers of a machine together may call the server.",
        last=True,
    )

    def mistakes(self) -> Iterator[Mistake]:
        """Finds keys of ``rate`` that it does not have, and numbers that cannot be."""
        yield from super().mistakes()
        yield from _mistakes(self.rate, "rate", self.rate_keys(), is_whole=True)

    @staticmethod
    def rate_keys() -> Sequence[str]:
        """Returns the keys that ``rate`` takes."""
        return (REQUESTS,)


class SpendingOptions(RateOptions):
    """How many tokens and dollars calls may take."""

    rate: Mapping[str, Any] = option(
        {},
        "{requests_per_minute: N, tokens_per_minute: N}: how often all workers of a machine together may call the "
        "server, and how many tokens that may take.",
        last=True,
    )
    budget: Mapping[str, Any] = option(
        {},
        "{tokens: N} or {usd: N}: what calls may take on a machine in a day, or in what 'per' says: hour, day, month.",
        last=True,
    )
    price: Mapping[str, Any] = option(
        {},
        "{input: USD, output: USD, cached: USD}: what a million tokens cost.",
        last=True,
    )

    def mistakes(self) -> Iterator[Mistake]:
        """Finds keys of ``budget`` and ``price`` that they do not have, and numbers that cannot be."""
        yield from super().mistakes()
        limits = {key: value for key, value in self.budget.items() if key != "per"}
        yield from _mistakes(limits, "budget", ("tokens", "usd"), also=("per",))
        yield from _mistakes(self.price, "price", _PRICES, or_zero=True)
        if "per" in self.budget and self.budget["per"] not in PERIODS:
            text = f"'per' is {self.budget['per']!r}; allowed: {listed(PERIODS)}"
            yield Mistake(below("budget", "per"), "bad_value", text)
        if self.budget and not limits:
            yield Mistake("budget", "missing_key", "a budget needs 'tokens' or 'usd'")
        if "usd" in self.budget and not self.price:
            yield Mistake(
                "budget", "missing_key", "a budget in dollars needs 'price': {input: USD, output: USD}"
            )
        if self.price and not {"input", "output"} <= self.price.keys():
            yield Mistake("price", "missing_key", "a price needs 'input' and 'output'")

    @staticmethod
    def rate_keys() -> Sequence[str]:
        """Returns the keys that ``rate`` takes."""
        return (REQUESTS, TOKENS)


def quota_of(options: RateOptions, *names: str) -> Quota | None:
    """Returns the quota of a node; None where it has none.

    Args:
        options: The node's.
        names: The server, and the model.
    """
    if not options.rate:
        return None
    return Quota(names, Rate(options.rate.get(REQUESTS), options.rate.get(TOKENS)))


def budget_of(options: SpendingOptions, *names: str) -> Budget | None:
    """Returns the budget of a node; None where it has none.

    Args:
        options: The node's.
        names: The server, the model, the ensemble and the node.
    """
    if not options.budget:
        return None
    found = options.budget
    return Budget(names, found.get("per", "day"), tokens=found.get("tokens"), usd=found.get("usd"))


def price_of(options: SpendingOptions) -> Price | None:
    """Returns what tokens cost; None where the node does not say."""
    found = options.price
    return Price(found["input"], found["output"], found.get("cached", found["input"])) if found else None


def _mistakes(
    given: Mapping[str, Any],
    name: str,
    keys: Sequence[str],
    *,
    also: Sequence[str] = (),
    is_whole: bool = False,
    or_zero: bool = False,
) -> Iterator[Mistake]:
    for key, value in given.items():
        if key not in keys:
            known = (*keys, *also)
            text = f"'{name}' takes no key {key!r}{nearest(str(key), known)} (keys: {listed(known)})"
            yield Mistake(below(name, str(key)), "unknown_option", text)
            continue
        of = int if is_whole or key == "tokens" else int | float
        is_number = isinstance(value, of) and not isinstance(value, bool)
        if not is_number or not (0 if or_zero else 1e-9) <= value <= _LARGEST:
            kind = "a whole number" if of is int else "a number"
            text = f"'{key}' is {value!r}; it is {kind} of {'at least' if or_zero else 'more than'} 0, 1e12 at most"
            yield Mistake(below(name, key), "bad_value", text)
