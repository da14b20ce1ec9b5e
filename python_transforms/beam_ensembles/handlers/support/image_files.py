"""Encoded images -> Pillow's: upright, 8 bits a colour, of a size that fits into memory."""

from __future__ import annotations

import io
import math
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.messages.foreign_errors import text_of

IMAGE_FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""What Pillow may take bytes for; its other formats start programs, or are hardly ever images of rows."""

MOST_PIXELS: Final = 50_000_000
"""The largest image that is decoded where nobody says otherwise: its header says how large it will be."""

_MOST_SCANS: Final = 100
"""Scans of a JPEG: progressive files have ten. Each is decoded over the whole image, however few its bytes are."""
_SCAN: Final = b"\xff\xda"
_TILE_SIDES: Final = (322, 323)
"""The TIFF tags of a tile's width and length."""
_TILE_PIXELS: Final = 1 << 24
"""Pixels that a tile may have, even where fewer are allowed in an image: a small one may lie in one tile."""

_SIXTEEN_BITS: Final = ("I;16", "I;16B", "I;16L", "I;16N")
_UNKNOWN_SCALE: Final = ("I", "F")


def decode_image(data: bytes, name: str, mode: str = "RGB", most_pixels: int = MOST_PIXELS) -> Any:
    """Decodes an image.

    Args:
        data: A file of one of ``IMAGE_FORMATS``; of several pictures in it the first is taken.
        name: The column's name, for messages.
        mode: Pillow's name of the mode wanted: RGB, which drops transparency, RGBA or L.
        most_pixels: The largest width times height that is decoded.

    Returns:
        Pillow's image, turned as its EXIF data say. Beside RGB, its ``info`` still has the ``transparency`` of a file
        with one transparent colour: processors of transformers make that colour white.

    Raises:
        NodeError: ``wrong_value`` where it is not a whole image, or too large.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
            width, height = image.size
            if width * height > most_pixels:
                text = f"it has {width} x {height} pixels, more than the {most_pixels} that are allowed"
                raise _wrong(name, text)
            _refuse_bomb(image, data, most_pixels)
            found = _upright(image, mode)
            return found if found.mode == mode else found.convert(mode)
    except NodeError:
        raise
    except UnidentifiedImageError as exc:
        raise _wrong(name, f"it is none of {listed(IMAGE_FORMATS)}") from exc
    except Exception as exc:  # a decoder of foreign bytes may raise anything
        raise _wrong(name, text_of(exc) or type(exc).__name__) from exc


def pixels_of(data: bytes) -> int:
    """Returns how many pixels an image has by its header; 0 where it is none."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
            return math.prod(image.size)
    except Exception:  # decoding says why
        return 0


def _refuse_bomb(image: Any, data: bytes, most_pixels: int) -> None:
    """Refuses a file whose decoding takes far more than its pixels do.

    Raises:
        ValueError: It is one.
    """
    if image.format in ("JPEG", "MPO") and data.count(_SCAN) > _MOST_SCANS:
        raise ValueError(f"it has more than {_MOST_SCANS} scans")
    if image.format == "TIFF":
        sides = [image.tag_v2.get(tag, 0) for tag in _TILE_SIDES]
        if not all(isinstance(side, int) for side in sides) or math.prod(sides) > max(
            most_pixels, _TILE_PIXELS
        ):
            raise ValueError("its tiles are too large")


def _wrong(name: str, reason: str) -> NodeError:
    return NodeError("wrong_value", f"'{name}' holds no image that can be read: {reason}")


def _upright(image: Any, mode: str) -> Any:
    from PIL import Image, ImageOps

    ImageOps.exif_transpose(image, in_place=True)
    if image.mode in _SIXTEEN_BITS:  # Pillow itself would cut all above 255 off
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in _UNKNOWN_SCALE:
        raise ValueError("its pixels are neither of 8 nor of 16 bits")
    transparency = image.info.get("transparency")
    is_kept = transparency is None or (mode == "RGB" and not isinstance(transparency, bytes))
    return image if is_kept else image.convert("RGBA")
