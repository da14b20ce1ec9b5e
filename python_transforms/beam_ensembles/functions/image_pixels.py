"""What an ``image`` node does to a batch: encoded images to one array of pixels."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from beam_ensembles.functions.image import ImageOptions
from beam_ensembles.functions.rows import finished, of_each
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.support.image_files import decode_image
from beam_ensembles.types import Type, dtype_of, row_shape

Values = np.ndarray[Any, Any]

_MODES = {"rgb": "RGB", "rgba": "RGBA", "gray": "L"}
_FULL = 255.0
_VALUES = 256


@dataclasses.dataclass(frozen=True, slots=True)
class Pixels:
    """Decodes, resizes and scales images.

    Attributes:
        column: The encoded images.
        mode: Pillow's name of the colours.
        most_pixels: The largest image that is decoded.
        resized: Gives an image of Pillow's in the size wanted.
        mean: Subtracted from each colour, ``[channels]``; None: nothing.
        std: The divisor after that; None: nothing.
        is_chw: Whether the colours come first.
        given: The type of what comes out.
        outputs: The type of each column that it adds.
    """

    column: str
    mode: str
    most_pixels: int
    resized: Callable[[Any], Any]
    mean: Values | None
    std: Values | None
    is_chw: bool
    given: Type
    outputs: Mapping[str, Type]

    @classmethod
    def of(cls, node: CheckedNode[ImageOptions], given: Type) -> Pixels:
        """Creates the member of a node that gives pixels of a type."""
        options = node.options
        return cls(
            node.spec.columns[0],
            _MODES[options.colors],
            options.max_pixels,
            _resizer(options),
            None if options.mean is None else np.array(options.mean, np.float64),
            None if options.std is None else np.array(options.std, np.float64),
            options.layout == "chw",
            given,
            node.outputs,
        )

    def __call__(self, columns: Columns) -> Columns:
        """Decodes every row's image.

        Raises:
            SomeFailed: Some rows hold no image, or one that is too large.
        """
        encoded = columns[self.column].tolist()
        height, width, channels = self._shape()
        pixels = np.empty((len(encoded), height, width * channels), dtype_of(self.given))
        scale, at = self._scale(height, width), itertools.count()

        def decode(data: bytes) -> None:
            found = self._decoded(data).reshape(height, -1)
            scale(found, pixels[next(at)])  # image by image, as the processor's cache holds it now

        found, faults = of_each(decode, encoded)
        values = self._arranged(pixels[: len(found)].reshape(-1, height, width, channels))
        return finished(dict.fromkeys(self.outputs, (values, self.given)), self.outputs, faults)

    def _decoded(self, data: bytes) -> Values:
        """Returns ``[height, width, channels]`` of uint8."""
        image = self.resized(decode_image(data, self.column, self.mode, self.most_pixels))
        return np.asarray(image)

    def _shape(self) -> tuple[int, int, int]:
        """Returns height, width and channels."""
        shape = row_shape(self.given)
        channels, height, width = shape if self.is_chw else (shape[-1], *shape[:-1])
        return height, width, channels

    def _arranged(self, pixels: Values) -> Values:
        """Returns a batch, ``[N, height, width, channels]``, as it was asked for.

        The colours of a pixel stay together in memory, where they come first too: networks are faster on such tensors.
        """
        return np.moveaxis(pixels, -1, 1) if self.is_chw else pixels

    def _scale(self, height: int, width: int) -> Callable[[Values, Values], None]:
        """Returns what writes ``[height, width * channels]`` scaled to 0 to 1, less ``mean``, over ``std``, in double.

        A colour has but 256 values: each is looked up.
        """
        if dtype_of(self.given) == np.uint8:
            return lambda pixels, out: np.copyto(out, pixels)
        channels = self._shape()[-1]
        mean = np.zeros(channels) if self.mean is None else self.mean
        std = np.ones(channels) if self.std is None else self.std
        values = np.arange(_VALUES) / _FULL
        table = ((values - mean[:, None]) / std[:, None]).astype(dtype_of(self.given)).ravel()
        starts = np.tile(np.arange(channels, dtype=np.intp) * _VALUES, width)
        places = np.empty((height, width * channels), np.intp)

        def scale(pixels: Values, out: Values) -> None:
            np.add(pixels, starts, out=places)
            np.take(table, places, out=out, mode="clip")  # with another mode it would make a copy first

        return scale


def _resizer(options: ImageOptions) -> Callable[[Any], Any]:
    from PIL import Image, ImageOps

    height, width = options.size
    size = (width, height)
    method = Image.Resampling[options.resample.upper()]
    if options.fit == "crop":
        return lambda image: ImageOps.fit(image, size, method)
    if options.fit == "pad":
        return lambda image: ImageOps.pad(_not_too_thin(image, size), size, method)
    return lambda image: image if image.size == size else image.resize(size, method)


def _not_too_thin(image: Any, size: tuple[int, int]) -> Any:
    """Returns an image of which a side would be none once it fits into a size with that side one pixel long there."""
    scale = min(wanted / side for wanted, side in zip(size, image.size, strict=True))
    fitting = tuple(round(side * scale) for side in image.size)
    return image if all(fitting) else image.resize(tuple(max(side, 1) for side in fitting))
