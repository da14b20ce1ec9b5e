"""``image``: encoded images to the pixels that a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.functions.inputs import one_column, wrong_input
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.image_files import MOST_PIXELS
from beam_ensembles.spec.places import below
from beam_ensembles.types import BYTES, Array, Scalar, Type

PORT: Final = "pixels"
CHANNELS: Final[Mapping[str, int]] = {"rgb": 3, "rgba": 4, "gray": 1}
DTYPES: Final = ("uint8", "float16", "float", "double")
LAYOUTS: Final = ("hwc", "chw")
RESAMPLE: Final = ("nearest", "bilinear", "bicubic", "lanczos")
FITS: Final = ("stretch", "crop", "pad")
_LARGEST: Final = 89_478_485  # beyond that Pillow itself objects
_LARGEST_SIDE: Final = 16_384


class ImageOptions(Options):
    """What the decoder of images takes."""

    size: list[Any] = option([], "Height and width of the result: [224, 224].", required=True)
    layout: str = option(
        "hwc", "Which dimension comes first: height (hwc) or the colours (chw).", choices=LAYOUTS
    )
    dtype: str | None = option(
        None,
        "Of the result: uint8 has 0 to 255, the others 0 to 1.",
        choices=DTYPES,
        shown="uint8, or float where there are 'mean' and 'std'",
    )
    mean: list[Any] | None = option(None, "What is taken off each colour, of 0 to 1: [0.485, 0.456, 0.406].")
    std: list[Any] | None = option(None, "What each colour is divided by after that: [0.229, 0.224, 0.225].")
    colors: str = option(
        "rgb",
        "The colours of the result; rgb drops transparency, rgba has it as fourth.",
        choices=tuple(CHANNELS),
    )
    fit: str = option(
        "stretch",
        "How an image of another shape is fitted: stretched, cropped at the centre, or padded with black.",
        choices=FITS,
    )
    resample: str = option("bilinear", "How pixels are averaged.", choices=RESAMPLE)
    max_pixels: int = option(
        MOST_PIXELS,
        "The largest image, width times height, that is decoded.",
        least=1,
        most=_LARGEST,
    )


class ImageKind(Kind[ImageOptions]):
    """Decodes images and brings them to one size."""

    kind = "apply"
    name = "image"
    summary = "Decodes images (BMP, GIF, JPEG, PNG, TIFF, WebP), turned upright, to pixels of one size."
    takes = "One column of encoded images: bytes."
    gives = "pixels: a tensor of 'size', with the colours last, or first where 'layout' is chw."
    extra = "image"
    modules = ("PIL",)
    options = ImageOptions

    def check(self, node: NodeView[ImageOptions]) -> Mapping[str, Type | None]:
        """Checks the options; what comes out is a tensor of the wanted size."""
        type_ = one_column(node, "encoded images", "data")
        if type_ is not None and type_ != BYTES:
            wrong_input(node, 0, "encoded images: bytes")
        _check_scaling(node)
        size = _check_size(node)
        given = None if size is None else type_of_pixels(node.options, size)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), given))

    def load(self, node: CheckedNode[ImageOptions]) -> Member:
        """Imports Pillow."""
        from beam_ensembles.functions.image_pixels import Pixels

        height, width = node.options.size
        return Pixels.of(node, type_of_pixels(node.options, (height, width)))


def type_of_pixels(options: ImageOptions, size: tuple[int, int]) -> Type:
    """Returns the type of what a node makes of an image.

    Args:
        options: The node's own keys.
        size: Height and width.
    """
    channels = CHANNELS[options.colors]
    is_scaled = options.mean is not None or options.std is not None
    shape = (channels, *size) if options.layout == "chw" else (*size, channels)
    return Array(Scalar(options.dtype or ("float" if is_scaled else "uint8")), shape)


def _check_size(node: NodeView[ImageOptions]) -> tuple[int, int] | None:
    size = node.options.size
    if len(size) == 2 and all(type(side) is int and 1 <= side <= _LARGEST_SIDE for side in size):
        return size[0], size[1]
    text = f"'size' is height and width, two whole numbers of 1 to {_LARGEST_SIDE}, such as [224, 224]; found {size}"
    node.problem("bad_value", "size", text)
    return None


def _check_scaling(node: NodeView[ImageOptions]) -> None:
    options = node.options
    for name, values in (("mean", options.mean), ("std", options.std)):
        if values is None:
            continue
        _check_numbers(node, name, values)
        if options.dtype == "uint8":
            text = f"'{name}' makes fractions of colours, which uint8 cannot hold; take 'dtype: float', or leave it out"
            node.problem("bad_value", "dtype", text)
    zeros = [at for at, value in enumerate(options.std or ()) if value == 0]
    for at in zeros:
        node.problem("bad_value", below("std", at), "a colour cannot be divided by 0")


def _check_numbers(node: NodeView[ImageOptions], name: str, values: Sequence[Any]) -> None:
    colors = node.options.colors
    wanted = CHANNELS[colors]
    is_right = all(type(value) in (int, float) and abs(value) < float("inf") for value in values)
    if not is_right or len(values) != wanted:
        text = (
            f"'{name}' is a list with a number for each colour of {colors} ({wanted}); found {list(values)}"
        )
        node.problem("bad_value", name, text)
