"""``keywords``: the words and phrases that a text is about, by yake: statistics of the text alone, without a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.functions.inputs import one_column, wrong_input
from beam_ensembles.functions.rows import finished, objects
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, ports_of, settle
from beam_ensembles.types import DOUBLE, STRING, Array, Type

KEYWORDS: Final = "keywords"
SCORES: Final = "scores"
GIVEN: Final[Mapping[str, Type]] = {KEYWORDS: Array(STRING), SCORES: Array(DOUBLE)}

LANGUAGES: Final = (
    "ar", "bg", "br", "cz", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "hi", "hr", "hu", "hy", "id", "it",
    "ja", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "tr", "uk", "zh",
)  # fmt: skip
"""The languages whose stop words yake has, as it calls them."""


class KeywordsOptions(Options):
    """What the search for keywords takes."""

    k: int = option(10, "The most keywords of a text.", least=1, most=1_000)
    language: str = option("en", "The language of the texts.", choices=LANGUAGES)
    max_words: int = option(3, "The most words of a keyword.", least=1, most=10)


class KeywordsKind(Kind[KeywordsOptions]):
    """Extracts keywords with yake (Campos et al., "YAKE! Keyword extraction from single documents", 2020)."""

    kind = "apply"
    name = "keywords"
    summary = "Finds the words and phrases that a text is about, from the text alone."
    takes = "One column of texts."
    gives = "keywords: array<string>, best first; scores: array<double>, the lower the better."
    extra = "keywords"
    modules = ("yake",)
    options = KeywordsOptions

    def check(self, node: NodeView[KeywordsOptions]) -> Mapping[str, Type | None]:
        """Checks that there is one column of texts."""
        type_ = one_column(node, "texts", "text")
        if type_ is not None and type_ != STRING:
            wrong_input(node, 0, "texts: string")
        ports = check_ports(node, tuple(GIVEN))
        return settle(node, "type_mismatch", {name: GIVEN[port] for name, port in ports.items()})

    def load(self, node: CheckedNode[KeywordsOptions]) -> Member:
        """Reads the language's stop words."""
        import yake

        options = node.options
        settings = {
            "lan": options.language,
            "n": options.max_words,
            "top": options.k,
            "stopwords": yake.KeywordExtractor(lan=options.language).stopword_set,
        }
        return Keywords(node.spec.columns[0], settings, ports_of(node.spec, tuple(GIVEN)), node.outputs)


@dataclasses.dataclass(frozen=True, slots=True)
class Keywords:
    """Extracts keywords.

    Attributes:
        column: The texts.
        settings: The extractor's.
        ports: Which port each column takes that it adds.
        outputs: The type of each column that it adds.
    """

    column: str
    settings: Mapping[str, Any]
    ports: Mapping[str, str]
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Finds every text's keywords; a text without any has empty lists."""
        import yake

        # One a call: its cache of similar words is not made for several threads.
        extractor = yake.KeywordExtractor(**self.settings)
        found = [extractor.extract_keywords(text) for text in columns[self.column].tolist()]
        answers = {
            KEYWORDS: objects([[word for word, _ in one] for one in found]),
            SCORES: objects([[float(score) for _, score in one] for one in found]),
        }
        given = {name: (answers[port], GIVEN[port]) for name, port in self.ports.items()}
        return finished(given, self.outputs, {})
