"""A picture as Mermaid's text, for Markdown that renders it: https://mermaid.js.org/syntax/flowchart.html."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from beam_ensembles.drawing.picture import (
    COMPARISON,
    CONDITION,
    DATA,
    ROW,
    ROW_IN,
    ROW_OUT,
    Figure,
    Picture,
)
from beam_ensembles.drawing.words import cut, few

_SHAPES: Final = {
    ROW: ("[/", "/]"),
    "model": ("[", "]"),
    "combine": ("{{", "}}"),
    "route": ("{", "}"),
    "apply": ("([", "])"),
}
"""How each shape begins and ends."""
_STYLES: Final = {
    ROW: "fill:#f3f4f6,stroke:#6b7280,color:#111827",
    "model": "fill:#dfeafe,stroke:#3b6fd4,color:#111827",
    "combine": "fill:#dff5e6,stroke:#2f8f56,color:#111827",
    "route": "fill:#fdf0cd,stroke:#b7791f,color:#111827",
    "apply": "fill:#efe6fd,stroke:#8153d0,color:#111827",
}
"""Colours that are readable on light and on dark pages: a figure brings its own background."""
_CODES: Final = {
    '"': "&quot;", "#": "&num;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "&grave;",
}  # fmt: skip
"""HTML's names of what means something within quotes; where Mermaid 11 breaks a line it loses its own codes."""
_STAGE: Final = "fill:#f8fafc,stroke:#cbd5e1,color:#374151"
_LONGEST_CONDITION: Final = 60
_LONGEST_LINE: Final = 60


def mermaid(picture: Picture) -> str:
    """Returns a picture as the text of a Mermaid flow chart."""
    ids = _ids(picture)
    return "\n".join(
        [*_head(picture), *_figures(picture, ids), *_links(picture, ids), *_classes(picture, ids), ""]
    )


def _ids(picture: Picture) -> dict[str, str]:
    ids = {ROW_IN: "row_in", ROW_OUT: "row_out"}
    nodes = [figure.name for figure in picture.figures if figure.name not in ids]
    return ids | {name: f"n{at}" for at, name in enumerate(nodes, start=1)}


def _head(picture: Picture) -> Iterator[str]:
    yield f'---\ntitle: "{picture.name}"\n---'
    yield "flowchart LR"
    yield f"    accTitle: Ensemble {picture.name}"
    about = _plain(f"{picture.description} {picture.note}")
    yield from [f"    accDescr: {about.replace('#', '')}"] if about else []


def _figures(picture: Picture, ids: Mapping[str, str]) -> Iterator[str]:
    by_name = {figure.name: figure for figure in picture.figures}
    inside = {name for stage in picture.stages for name in stage.figures}
    yield f"    {_figure(by_name[ROW_IN], ids)}"
    for at, stage in enumerate(picture.stages, start=1):
        yield f'    subgraph stage_{at}["{_text(f"stage {stage.name}: {stage.reason}")}"]'
        yield from (f"        {_figure(by_name[name], ids)}" for name in stage.figures)
        yield "    end"
    others = [name for name in by_name if name not in inside and name != ROW_IN]
    yield from (f"    {_figure(by_name[name], ids)}" for name in others)


def _figure(figure: Figure, ids: Mapping[str, str]) -> str:
    begin, end = _SHAPES[figure.shape]
    lines = "".join(f"<br/>{_text(cut(line, _LONGEST_LINE))}" for line in figure.lines)
    return f'{ids[figure.name]}{begin}"<b>{_text(figure.title)}</b>{lines}"{end}'


def _links(picture: Picture, ids: Mapping[str, str]) -> Iterator[str]:
    conditions = {figure.name: figure.condition for figure in picture.figures}
    for flow in picture.flows:
        source = ids[flow.source]
        readers = [ids[name] for name, role in flow.readers if role == DATA]
        if readers:
            yield f'    {source} -- "{_text(few(flow.columns))}" --> {" & ".join(readers)}'
        for name, role in flow.readers:
            if role == CONDITION:  # its other columns are only named
                condition, conditions[name] = conditions[name], ""
                label = f"when {cut(condition, _LONGEST_CONDITION)}" if condition else few(flow.columns)
                yield f'    {source} -. "{_text(label)}" .-> {ids[name]}'
            elif role == COMPARISON:
                yield f'    {source} -. "compared" .- {ids[name]}'


def _classes(picture: Picture, ids: Mapping[str, str]) -> Iterator[str]:
    for shape, style in _STYLES.items():
        members = [ids[figure.name] for figure in picture.figures if figure.shape == shape]
        if members:
            yield f"    classDef {shape} {style}"
            yield f"    class {','.join(members)} {shape}"
    if picture.stages:
        yield f"    classDef stage {_STAGE}"
        yield f"    class {','.join(f'stage_{at}' for at in range(1, len(picture.stages) + 1))} stage"
    shadows = [ids[figure.name] for figure in picture.figures if figure.is_shadow]
    if shadows:
        yield "    classDef shadow stroke-dasharray:5 4"
        yield f"    class {','.join(shadows)} shadow"


def _text(text: str) -> str:
    """Returns a text as Mermaid takes it within quotes."""
    return "".join(_CODES.get(one, one) for one in _plain(text))


def _plain(text: str) -> str:
    """Returns a text in one line, without control characters and without what begins a comment or a directive."""
    return "".join(one for one in " ".join(text.split()) if one.isprintable()).replace("%%", "% %")
