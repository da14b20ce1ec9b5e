"""``python -m scripts.handler_reference``: writes docs/reference/handlers.md from the table of kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from beam_ensembles.graph.kinds import Kind
from beam_ensembles.graph.options import Option
from beam_ensembles.handlers.huggingface.reference import rewritten
from beam_ensembles.registry import OWN_KINDS
from scripts.layout import ROOT, relative
from scripts.program import say

PAGE: Final = ROOT / "docs" / "reference" / "handlers.md"
TASKS_PAGE: Final = ROOT / "docs" / "reference" / "huggingface.md"
_HEAD: Final = """\
# What a node can run

`beam-ensembles list` prints the same, and which kinds are installed. [The ensemble file](ensemble-file.md) has the keys
that every node takes. These pages say more about single kinds: [scikit-learn](sklearn.md), [XGBoost](xgboost.md),
[LightGBM](lightgbm.md), [CatBoost](catboost.md), [ONNX](onnx.md), [PyTorch and TensorRT](pytorch.md),
[Hugging Face](huggingface.md), [models on a server](servers.md), [Python](../how-to/python-handlers.md),
[combiners](combiners.md), [routes](routes.md), [functions](functions.md), [files and databases](lookup.md).

`inputs` is a list of columns or a mapping, `{port: column}`. An entry of `outputs` takes the part of the answer that
has its name, or the one that it names with `from`, or the only one there is.
"""
_KEYS: Final = {
    "model": "Models",
    "combine": "Combining predictions",
    "route": "Routing",
    "apply": "Computing columns",
}
_COMMON: Final = 4
"""An option that is the same for as many kinds is described once."""


def reference(kinds: Sequence[Kind]) -> str:
    """Writes the page.

    Args:
        kinds: All kinds, in the order in which they are to be listed.
    """
    uses = Counter(option for kind in kinds for option in kind.keys)
    common = [option for option, count in uses.items() if count >= _COMMON]
    parts = [_HEAD]
    for key, title in _KEYS.items():
        found = [kind for kind in kinds if kind.kind == key]
        if found:
            parts.append(f"## {title}\n\n{_table(found, kinds)}\n")
            parts += [_section(kind, title_of(kind, kinds), common) for kind in found]
    parts.append(f"## Keys of many kinds\n\n{_options(common)}\n")
    return "\n".join(parts)


def title_of(kind: Kind, kinds: Sequence[Kind]) -> str:
    """Returns the title of a kind's section: its name, with its key where another kind has the same."""
    is_only = sum(other.name == kind.name for other in kinds) == 1
    return kind.name if is_only else f"{kind.kind}: {kind.name}"


def _table(kinds: Iterable[Kind], every: Sequence[Kind]) -> str:
    """Writes one line per kind."""
    head = ["| kind | what it does |", "|---|---|"]
    rows = []
    for kind in kinds:
        anchor = title_of(kind, every).replace(": ", "-")
        rows.append(f"| [`{kind.name}`](#{anchor}) | {_cell(kind.summary)} |")
    return "\n".join([*head, *rows])


def _section(kind: Kind, title: str, common: Sequence[Option]) -> str:
    own = [option for option in kind.keys if option not in common]
    shared = [f"`{option.name}`" for option in kind.keys if option in common]
    lines = [
        f"### `{title}`\n",
        f"{kind.summary}\n",
        f"- **Inputs.** {kind.takes}",
        f"- **Outputs.** {kind.gives}\n",
    ]
    if kind.extra is not None:
        lines.append(f"Workers need `pip install 'beam-ensembles[{kind.extra}]'`.\n")
    if own:
        lines.append(f"{_options(own)}\n")
    if shared:
        lines.append(f"Of the [keys of many kinds](#keys-of-many-kinds) it takes {', '.join(shared)}.\n")
    return "\n".join(lines)


def _options(options: Iterable[Option]) -> str:
    return "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *_option_rows(options)])


def _option_rows(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        value = ", ".join(f"`{choice}`" for choice in option.choices) or option.accepts
        default = "required" if option.required else option.default or ""
        yield f"| `{option.name}` | {value} | {_cell(str(default))} | {_cell(option.description)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Writes the page, and the table of tasks in that of Hugging Face's models."""
    PAGE.write_text(reference(list(OWN_KINDS.values())), encoding="utf-8")
    TASKS_PAGE.write_text(rewritten(TASKS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    say(f"{relative(PAGE)}, {relative(TASKS_PAGE)}")


if __name__ == "__main__":
    main()
