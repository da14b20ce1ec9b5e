"""What a task reads: columns of texts, images, sounds and boxes, as transformers takes them.

Images and sounds are decoded here. A text is never taken for the place of a file, which transformers' own pipelines
would open, or fetch from the web.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, TooLargeTogether
from beam_ensembles.handlers.support.image_files import MOST_PIXELS, decode_image, pixels_of
from beam_ensembles.types import INT64, NUMPY_DTYPES, STRING, Array, Scalar, Type, row_shape

_CHANNELS: Final = (1, 3, 4)
_MOST_PIXELS_AT_ONCE: Final = 4 * MOST_PIXELS
"""Of the images of one call, three bytes each. An image of one colour has 50 kB, and 150 MB when it is decoded."""


@dataclasses.dataclass(frozen=True, slots=True)
class Media:
    """One kind of thing that a task reads.

    Attributes:
        wanted: The types of its columns, for people.
        accepts: Says whether a column of a type holds it.
        read: Gives one item a row of a column; the second argument is the column's name, for messages.
    """

    wanted: str
    accepts: Callable[[Type], bool]
    read: Callable[[Iterable[Any], str], list[Any]]


def _is_integer(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.name in NUMPY_DTYPES and NUMPY_DTYPES[type_.name].kind in "iu"


def _is_float(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.name in NUMPY_DTYPES and NUMPY_DTYPES[type_.name].kind == "f"


def _is_image(type_: Type) -> bool:
    if isinstance(type_, Scalar):
        return type_.name == "bytes"
    shape = row_shape(type_)
    is_picture = len(shape) == 2 or (len(shape) == 3 and shape[2] in _CHANNELS)
    return isinstance(type_, Array) and is_picture and _is_integer(type_.element)


def _is_sound(type_: Type) -> bool:
    if isinstance(type_, Scalar):
        return type_.name == "bytes"
    return isinstance(type_, Array) and len(row_shape(type_)) <= 1 and _is_float(type_.element)


def _is_boxes(type_: Type) -> bool:
    if not isinstance(type_, Array) or type_.shape is not None or not isinstance(type_.element, Array):
        return False
    return type_.element.shape in (None, (4,)) and _is_integer(type_.element.element)


def read_images(values: Iterable[Any], name: str) -> list[Any]:
    """Returns the images of a column.

    Args:
        values: Encoded images, or an array of whole numbers ``[N, h, w]`` or ``[N, h, w, channels]``, 0 to 255.
        name: The column's name.

    Returns:
        Pillow's images, in RGB, upright.

    Raises:
        NodeError: ``wrong_value`` where one of them is not an image.
        TooLargeTogether: They have too many pixels together.
    """
    values = list(values)
    if len(values) > 1 and _pixels_of_all(values) > _MOST_PIXELS_AT_ONCE:
        text = f"'{name}' holds images of more than {_MOST_PIXELS_AT_ONCE} pixels together"
        raise TooLargeTogether("wrong_value", text)
    return [_image(value, name) for value in values]


def _pixels_of_all(values: Iterable[Any]) -> int:
    return sum(pixels_of(value) for value in values if isinstance(value, bytes))


def _image(value: Any, name: str) -> Any:
    if isinstance(value, bytes):
        return decode_image(value, name)
    from PIL import Image

    return Image.fromarray(_pixels(value, name)).convert("RGB")


def _pixels(value: Any, name: str) -> np.ndarray[Any, Any]:
    pixels = np.asarray(value)
    if pixels.size and (int(pixels.min()) < 0 or int(pixels.max()) > 255):
        raise NodeError("wrong_value", f"'{name}' holds pixels outside of 0 to 255")
    pixels = pixels.astype(np.uint8, copy=False)
    return pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels


def _read_sounds(values: Iterable[Any], _: str) -> list[Any]:
    return [value if isinstance(value, bytes) else np.array(value, dtype=np.float32) for value in values]


def _read_values(values: Iterable[Any], _: str) -> list[Any]:
    return list(values)


TEXT: Final = Media("a text", lambda type_: type_ == STRING, _read_values)
TEXTS: Final = Media("a list of texts (array<string>)", lambda type_: type_ == Array(STRING), _read_values)
IMAGE: Final = Media(
    "an encoded image (bytes), or its pixels such as array<uint8>[384,384,3], row by row, colours last",
    _is_image,
    read_images,
)
SOUND: Final = Media(
    "a sound file (bytes), or samples at the model's own rate (array<float>)", _is_sound, _read_sounds
)
BOXES: Final = Media("a list of boxes (array<array<int64>[4]>)", _is_boxes, _read_values)
BOX: Final = Array(INT64, (4,))
