"""Encoded images to Pillow's: upright, whole, and of a size that fits."""

from __future__ import annotations

import contextlib
import io
import warnings
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.support.image_files import IMAGE_FORMATS, decode_image
from tests.support.media import pixels, png

PICTURE = pixels(1, 6, 9)


def encoded(image: Any, kind: str = "PNG", **arguments: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **arguments)
    return file.getvalue()


@pytest.mark.parametrize("kind", IMAGE_FORMATS)
def test_every_format_is_read(kind: str) -> None:
    data = encoded(Image.fromarray(PICTURE), kind)
    wanted = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    np.testing.assert_array_equal(np.asarray(decode_image(data, "i")), wanted)


@pytest.mark.parametrize(
    ("orientation", "turned"), [(1, PICTURE), (3, PICTURE[::-1, ::-1]), (6, np.rot90(PICTURE, -1))]
)
def test_a_photo_is_turned_as_its_camera_says(orientation: int, turned: Any) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(Image.fromarray(PICTURE), exif=exif)
    np.testing.assert_array_equal(np.asarray(decode_image(data, "i")), turned)


def test_transparency_is_dropped_or_kept() -> None:
    alpha = np.dstack([PICTURE, np.full(PICTURE.shape[:2], 7, np.uint8)])
    data = encoded(Image.fromarray(alpha))
    np.testing.assert_array_equal(np.asarray(decode_image(data, "i")), PICTURE)
    np.testing.assert_array_equal(np.asarray(decode_image(data, "i", "RGBA")), alpha)
    palette = Image.new("P", (2, 1))
    palette.putpalette([10, 20, 30, 40, 50, 60])
    palette.putdata([0, 1])
    found = decode_image(encoded(palette, transparency=b"\x05\xff"), "i", "RGBA")
    assert np.asarray(found).tolist() == [[[10, 20, 30, 5], [40, 50, 60, 255]]]


@pytest.mark.parametrize(
    ("kind", "mode", "transparency"),
    [
        ("PNG", "P", 1),
        ("GIF", "P", 1),
        ("PNG", "L", 120),
        ("PNG", "RGB", (90, 120, 60)),
        ("PNG", "P", b"\x05\xff"),
    ],
)
def test_one_transparent_colour_is_known_beside_rgb_as_pillow_has_it(
    kind: str, mode: str, transparency: Any
) -> None:
    image = Image.new(mode, (3, 2), transparency if mode == "RGB" else 1)
    if mode == "P":
        image.putpalette([10, 20, 30, 40, 50, 60])
    data = encoded(image, kind, transparency=transparency)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of a palette with several transparent colours
        wanted = Image.open(io.BytesIO(data)).convert("RGB")
    found = decode_image(data, "i")
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    assert found.mode == "RGB"
    assert found.info.get("transparency") == wanted.info.get("transparency")


def test_sixteen_bits_are_scaled_to_eight() -> None:
    data = encoded(Image.fromarray(np.array([[0, 255, 256, 30_000, 65_535]], np.uint16)))
    assert np.asarray(decode_image(data, "i", "L")).tolist() == [[0, 0, 1, 117, 255]]


def test_other_colours_become_those_wanted() -> None:
    data = encoded(Image.new("CMYK", (1, 1), (0, 255, 255, 0)), "JPEG", quality=100)
    assert np.abs(np.asarray(decode_image(data, "i")).astype(int) - [254, 0, 0]).max() < 4
    with pytest.raises(NodeError, match="neither of 8 nor of 16 bits"):
        decode_image(encoded(Image.fromarray(np.ones((1, 1), np.float32)), "TIFF"), "i")


@pytest.mark.parametrize("kind", IMAGE_FORMATS)
def test_an_image_that_is_cut_off_is_refused(kind: str) -> None:
    data = encoded(Image.fromarray(pixels(2, 60, 60)), kind)
    with pytest.raises(NodeError, match="'i' holds no image that can be read") as caught:
        decode_image(data[: len(data) // 2], "i")
    assert caught.value.code == "wrong_value"


def test_what_is_no_image_says_what_is() -> None:
    with pytest.raises(NodeError, match="it is none of BMP, GIF, JPEG, PNG, TIFF, WEBP"):
        decode_image(b"%PDF-1.7", "i")


def test_a_bomb_is_refused_by_its_header() -> None:
    bomb = bytearray(png(PICTURE))
    bomb[16:24] = (9_000).to_bytes(4, "big") * 2
    bomb[29:33] = zlib.crc32(bomb[12:29]).to_bytes(4, "big")
    with pytest.raises(NodeError, match="9000 x 9000 pixels, more than the 50000000 that are allowed"):
        decode_image(bytes(bomb), "i")
    bomb[16:24] = (90_000).to_bytes(4, "big") * 2
    bomb[29:33] = zlib.crc32(bomb[12:29]).to_bytes(4, "big")
    with pytest.raises(NodeError, match="exceeds limit"):
        decode_image(bytes(bomb), "i", most_pixels=80_000_000)
    with pytest.raises(NodeError, match="9 x 6 pixels, more than the 53 that are allowed"):
        decode_image(png(PICTURE), "i", most_pixels=53)
    assert decode_image(png(PICTURE), "i", most_pixels=54).size == (9, 6)


@given(st.binary(max_size=100) | st.integers(0, 400).map(lambda end: png(PICTURE)[:end]))
def test_any_bytes_give_an_image_or_an_error_of_their_row(data: bytes) -> None:
    with contextlib.suppress(NodeError):
        assert decode_image(data, "i").mode == "RGB"
