"""A picture as SVG: text of our own making, without scripts, the same bytes for the same file.

Colours stand on the elements, for programs that read no style sheet, with their counterparts for dark pages in one. The
picture has a background of its own, so that it is readable on any page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from beam_ensembles.drawing.coordinates import places
from beam_ensembles.drawing.layers import layers
from beam_ensembles.drawing.legend import Legend
from beam_ensembles.drawing.picture import CONDITION, Figure, Picture
from beam_ensembles.drawing.placement import sheet
from beam_ensembles.drawing.shapes import (
    LINE_HEIGHT,
    LINE_SIZE,
    LONGEST_LINE,
    TITLE_HEIGHT,
    TITLE_SIZE,
    number,
    outline,
    size_of,
)
from beam_ensembles.drawing.style import COLOURS, DASHES, FAINT, INK, LINES, text_of
from beam_ensembles.drawing.what_to_draw import Piece, Sheet
from beam_ensembles.drawing.words import cut, wrapped

_FONT: Final = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_DARK: Final = """\
@media (prefers-color-scheme: dark) {
  .page { fill: #0f172a } .ink { fill: #f1f5f9 } .faint { fill: #b6c2d3 }
  .stage { fill: #172136; stroke: #475569 }
  .row { fill: #273244; stroke: #94a3b8 } .model { fill: #1d3461; stroke: #7aa5f5 }
  .combine { fill: #174030; stroke: #5fc98a } .route { fill: #4a370f; stroke: #e3b04b }
  .apply { fill: #38265c; stroke: #b494f0 }
  .data, .comparison { stroke: #94a3b8 } .condition { stroke: #f0a04b }
  .data-head { fill: #94a3b8 } .condition-head, .when { fill: #f0a04b }
}"""
_MARGIN: Final = 20.0
_LEAST_WIDTH: Final = 460.0


def svg(picture: Picture) -> str:
    """Returns a picture as the text of an SVG document."""
    by_name = {figure.name: figure for figure in picture.figures}
    ordered = layers(picture)
    placed = places(ordered, lambda name: size_of(by_name[name])[1])
    plan = sheet(picture, ordered, placed)
    wide = max(plan.width, _LEAST_WIDTH) + 2 * _MARGIN
    head = list(_head(picture, wide - 2 * _MARGIN))
    top = _MARGIN + sum(height for height, _ in head)
    legend = Legend(picture, wide - 2 * _MARGIN)
    high = top + plan.height + 18 + legend.height + _MARGIN
    left = (wide - plan.width) / 2
    body = [*_stages(plan), *_flows(plan), *(_figure(figure, plan) for figure in picture.figures)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(wide)}" height="{number(high)}" '
            f'viewBox="0 0 {number(wide)} {number(high)}" role="img" aria-labelledby="{picture.name}-title '
            f'{picture.name}-about" font-family="{_FONT}">',
            f'<title id="{picture.name}-title">Ensemble {text_of(picture.name)}</title>',
            f'<desc id="{picture.name}-about">{text_of(_about(picture))}</desc>',
            f"<style>{_DARK}</style>",
            f'<rect class="page" width="{number(wide)}" height="{number(high)}" rx="8" fill="#ffffff"/>',
            *_placed(head),
            f'<g transform="translate({number(left)} {number(top)})">',
            *body,
            "</g>",
            f'<g transform="translate({number(_MARGIN)} {number(top + plan.height + 18)})">',
            *legend.items,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _about(picture: Picture) -> str:
    parts = [picture.description, picture.note]
    parts += [f"Stage {stage.name}: {', '.join(stage.figures)} ({stage.reason})" for stage in picture.stages]
    parts += ["; ".join(figure.about) for figure in picture.figures]
    return " ".join(f"{part.rstrip('.')}." for part in parts if part)


def _head(picture: Picture, room: float) -> Iterator[tuple[float, str]]:
    """Yields the lines above the picture: the height of each and its text element, without its place."""
    yield 30.0, f'class="ink" fill="{INK}" font-size="18" font-weight="600">{text_of(picture.name)}</text>'
    for text, colour in ((picture.description, "faint"), (picture.note, "when")):
        fill = FAINT if colour == "faint" else LINES[CONDITION]
        for line in wrapped(text, 12, room, 4):
            yield 17.0, f'class="{colour}" fill="{fill}" font-size="12">{text_of(line)}</text>'
    yield 8.0, ""


def _placed(head: Sequence[tuple[float, str]]) -> Iterator[str]:
    at = _MARGIN
    for height, text in head:
        at += height
        if text:
            yield f'<text x="{number(_MARGIN)}" y="{number(at - 10)}" {text}'


def _stages(plan: Sheet) -> Iterator[str]:
    for stage in plan.stages:
        wide = stage.right - stage.left
        yield f"<g><title>{text_of(f'stage {stage.name}: {stage.reason}')}</title>"
        yield (
            f'<rect class="stage" x="{number(stage.left)}" y="0" width="{number(wide)}" '
            f'height="{number(plan.height)}" rx="8" fill="#f8fafc" stroke="#cbd5e1"/>'
        )
        for at, line in enumerate(stage.lines):
            weight = ' font-weight="600"' if at == 0 else ""
            yield (
                f'<text class="faint" x="{number(stage.left + 12)}" y="{number(20 + 14 * at)}" fill="{FAINT}" '
                f'font-size="11"{weight}>{text_of(line)}</text>'
            )
        yield "</g>"


def _flows(plan: Sheet) -> Iterator[str]:
    for piece in plan.pieces:
        yield _line(piece)
    for label in plan.labels:
        colour = 'class="when" fill="#b45309"' if label.is_condition else f'class="faint" fill="{FAINT}"'
        anchor = ' text-anchor="end"' if label.is_condition else ""
        yield (
            f'<text {colour} x="{number(label.x)}" y="{number(label.y - 4)}" font-size="11"{anchor}>'
            f"<title>{text_of(label.about)}</title>{text_of(label.text)}</text>"
        )


def _line(piece: Piece) -> str:
    dashes = f' stroke-dasharray="{DASHES[piece.role]}"' if piece.role in DASHES else ""
    if piece.dashed and not dashes:
        dashes = ' stroke-dasharray="5 4"'
    colour = LINES[piece.role]
    line = f'<path class="{piece.role}" d="{piece.path}" fill="none" stroke="{colour}" stroke-width="1.4"{dashes}/>'
    if piece.head is None:
        return line
    x, y = piece.head
    tip = f"M{number(x)} {number(y)} l-8 -4 v8 Z"
    return f'{line}<path class="{piece.role}-head" d="{tip}" fill="{colour}"/>'


def _figure(figure: Figure, plan: Sheet) -> str:
    box = plan.boxes[figure.name]
    fill, stroke = COLOURS[figure.shape]
    dashes = ' stroke-dasharray="5 4"' if figure.is_shadow else ""
    middle = box.x + box.wide / 2
    at = box.y + box.high / 2 - (TITLE_HEIGHT + LINE_HEIGHT * len(figure.lines)) / 2
    texts = [
        f'<text class="ink" x="{number(middle)}" y="{number(at + 13)}" fill="{INK}" font-size="{number(TITLE_SIZE)}" '
        f'font-weight="600">{text_of(cut(figure.title, LONGEST_LINE))}</text>'
    ]
    for count, line in enumerate(figure.lines):
        down = at + TITLE_HEIGHT + LINE_HEIGHT * count + 11
        texts.append(
            f'<text class="faint" x="{number(middle)}" y="{number(down)}" fill="{FAINT}" '
            f'font-size="{number(LINE_SIZE)}">{text_of(cut(line, LONGEST_LINE))}</text>'
        )
    path = outline(figure.shape, box.x, box.y, box.wide, box.high)
    about = "\n".join(figure.about)
    return (
        f'<g text-anchor="middle"><title>{text_of(about)}</title>'
        f'<path class="{figure.shape}" d="{path}" fill="{fill}" stroke="{stroke}" stroke-width="1.5"{dashes}/>'
        f"{''.join(texts)}</g>"
    )
