"""``image``: encoded images to the pixels that a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.functions.inputs import one_column, wrong_input
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView, Option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.images import MOST_PIXELS
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


class ImageKind(Kind):
    """Decodes images and brings them to one size."""

    kind = "apply"
    name = "image"
    summary = "Decodes images (BMP, GIF, JPEG, PNG, TIFF, WebP), turned upright, to pixels of one size."
    takes = "One column of encoded images: bytes."
    gives = "pixels: a tensor of 'size', with the colours last, or first where 'layout' is chw."
    extra = "image"
    modules = ("PIL",)
    options = (
        Option("size", "list", "Height and width of the result: [224, 224].", required=True),
        Option(
            "layout",
            "string",
            "Which dimension comes first: height (hwc) or the colours (chw).",
            choices=LAYOUTS,
            default="hwc",
        ),
        Option(
            "dtype",
            "string",
            "Of the result: uint8 has 0 to 255, the others 0 to 1.",
            choices=DTYPES,
            default="uint8, or float where there are 'mean' and 'std'",
        ),
        Option("mean", "list", "What is taken off each colour, of 0 to 1: [0.485, 0.456, 0.406]."),
        Option("std", "list", "What each colour is divided by after that: [0.229, 0.224, 0.225]."),
        Option(
            "colors",
            "string",
            "The colours of the result; rgb drops transparency, rgba has it as fourth.",
            choices=tuple(CHANNELS),
            default="rgb",
        ),
        Option(
            "fit",
            "string",
            "What becomes of an image of another shape: it is stretched, cropped at the centre, or padded with black.",
            choices=FITS,
            default="stretch",
        ),
        Option("resample", "string", "How pixels are averaged.", choices=RESAMPLE, default="bilinear"),
        Option(
            "max_pixels",
            "integer",
            "The largest image, width times height, that is decoded.",
            default=str(MOST_PIXELS),
        ),
    )

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks the options; what comes out is a tensor of the wanted size."""
        type_ = one_column(node, "encoded images", "data")
        if type_ is not None and type_ != BYTES:
            wrong_input(node, 0, "encoded images: bytes")
        most = node.option("max_pixels")
        if most is not None and not 1 <= most <= _LARGEST:
            text = f"'max_pixels' is {most}; allowed: 1 to {_LARGEST}"
            node.problem("bad_value", "max_pixels", text)
        colors = str(node.option("colors", "rgb"))
        _check_scaling(node, colors)
        size = _check_size(node)
        given = None
        if size is not None and colors in CHANNELS:
            given = type_of_pixels(node.spec.options, size)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), given))

    def load(self, node: CheckedNode) -> Member:
        """Imports Pillow."""
        from beam_ensembles.functions.image_pixels import Pixels

        options = node.spec.options
        height, width = options["size"]
        return Pixels.of(node, type_of_pixels(options, (height, width)))


def type_of_pixels(options: Mapping[str, Any], size: tuple[int, int]) -> Type:
    """Gives the type of what a node makes of an image.

    Args:
        options: The node's own keys.
        size: Height and width.
    """
    channels = CHANNELS[options.get("colors", "rgb")]
    is_scaled = "mean" in options or "std" in options
    shape = (channels, *size) if options.get("layout") == "chw" else (*size, channels)
    return Array(Scalar(options.get("dtype", "float" if is_scaled else "uint8")), shape)


def _check_size(node: NodeView) -> tuple[int, int] | None:
    size = node.option("size")
    if size is None:
        node.problem("missing_key", "size", "without it nothing is known of the outputs")
        return None
    if len(size) == 2 and all(type(side) is int and 1 <= side <= _LARGEST_SIDE for side in size):
        return size[0], size[1]
    text = f"'size' is height and width, two whole numbers of 1 to {_LARGEST_SIDE}, such as [224, 224]; found {size}"
    node.problem("bad_value", "size", text)
    return None


def _check_scaling(node: NodeView, colors: str) -> None:
    for name in ("mean", "std"):
        values = node.option(name)
        if values is None:
            continue
        _check_numbers(node, name, values, colors)
        if node.option("dtype") == "uint8":
            text = f"'{name}' makes fractions of colours, which uint8 cannot hold; take 'dtype: float', or leave it out"
            node.problem("bad_value", "dtype", text)
    zeros = [at for at, value in enumerate(node.option("std") or ()) if value == 0]
    for at in zeros:
        node.problem("bad_value", below("std", at), "a colour cannot be divided by 0")


def _check_numbers(node: NodeView, name: str, values: Sequence[Any], colors: str) -> None:
    wanted = CHANNELS.get(colors)
    is_right = all(type(value) in (int, float) and abs(value) < float("inf") for value in values)
    if not is_right or (wanted is not None and len(values) != wanted):
        text = (
            f"'{name}' is a list with a number for each colour of {colors} ({wanted}); found {list(values)}"
        )
        node.problem("bad_value", name, text)
