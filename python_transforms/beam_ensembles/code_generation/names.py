"""Names of columns and ensembles as identifiers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

from beam_ensembles.code_generation.language import CannotGenerate
from beam_ensembles.code_generation.rows import Column, nested_rows


def words_of(name: str) -> list[str]:
    """Returns the parts of a name between ``_`` and ``-``, of letters and decimal digits only."""
    plain = "".join(letter if _is_letter_or_digit(letter) else "_" for letter in name)
    return [word for word in plain.split("_") if word]


def _is_letter_or_digit(letter: str) -> bool:
    category = unicodedata.category(letter)
    return category.startswith("L") or category == "Nd"


def upper_camel(name: str, initialisms: Collection[str] = ()) -> str:
    """Returns a name in upper camel case, which starts with a letter that is upper case.

    Args:
        name: Such as ``fraud_p``, for which it returns ``FraudP``.
        initialisms: Words that are written in capitals as a whole.
    """
    found = ""
    for word in words_of(name):
        between = "_" if found[-1:].isdigit() and word[0].isdigit() else ""
        found += between + (word.upper() if word.lower() in initialisms else word[0].upper() + word[1:])
    return found if unicodedata.category(found[:1] or "_") == "Lu" else f"X{found}"


def lower_camel(name: str) -> str:
    """Returns a name in lower camel case: ``fraudP`` of ``fraud_p``."""
    found = upper_camel(name)
    return found[0].lower() + found[1:]


def snake(name: str) -> str:
    """Returns a name in lower case, its words joined by ``_``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", "_".join(words_of(name)))
    return spaced.lower()


def package_name(ensemble: str) -> str:
    """Returns a package's name for an ensemble, of lower-case ASCII letters and digits; empty where there is none."""
    found = re.sub(r"[^a-z0-9]", "", ensemble.lower())
    return found if found[:1].isalpha() else ""


def check_distinct(names: Iterable[tuple[str, str]], language: str) -> None:
    """Checks that no two things have one name.

    Args:
        names: What each is in the ensemble file, and its identifier.
        language: The language, for the message.

    Raises:
        CannotGenerate: Two of them have.
    """
    first: dict[str, str] = {}
    for thing, identifier in names:
        other = first.setdefault(identifier, thing)
        if other != thing:
            raise CannotGenerate(
                f"{other} and {thing} would both be called '{identifier}' in {language}; rename one of them in the "
                "ensemble file"
            )


def escaped(name: str, reserved: Collection[str]) -> str:
    """Returns a name with ``_`` at its end where it is a word of the language."""
    return f"{name}_" if name in reserved else name


def row_names(
    columns: Sequence[Column], prefix: str, initialisms: Collection[str] = ()
) -> dict[tuple[str, ...], str]:
    """Returns the name of the type of each row within columns, by its path, inner ones first."""
    return {
        path: f"{prefix}{''.join(upper_camel(one, initialisms) for one in path)}Row"
        for path, _ in nested_rows(columns)
    }
