"""``apply: image``: encoded images to pixels."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from beam_ensembles.errors import SomeFailed
from beam_ensembles.handlers.support.image_files import IMAGE_FORMATS
from beam_ensembles.types import parse_type
from tests.support.media import objects, pixels, png
from tests.support.nodes import load_node, problems_of

FOLDER = Path("/")
PICTURES = [pixels(1), pixels(2, 30, 70)]
COLUMNS = {"i": objects(*map(png, PICTURES))}
SEVERAL = ("GIF", "TIFF", "WEBP")
"""Formats whose files hold more pictures than one here."""
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def node_of(**more: Any) -> dict[str, Any]:
    return {"apply": "image", "size": [20, 32], "inputs": ["i"], "outputs": {"pixels": None}, **more}


def shape_of(node: dict[str, Any]) -> str:
    sides = [*node["size"], 3] if node.get("layout") != "chw" else [3, *node["size"]]
    return f"[{','.join(map(str, sides))}]"


def pixels_of(type_: str = "double", **options: Any) -> np.ndarray[Any, Any]:
    node = node_of(**options)
    node["outputs"] = {"pixels": f"array<{type_}>{shape_of(node)}"}
    found = load_node(FOLDER, {"i": "bytes"}, node)(COLUMNS)["pixels"]
    declared = parse_type(node["outputs"]["pixels"])
    assert found.shape == (2, *declared.shape)  # type: ignore[attr-defined]
    return np.asarray(found)


def resized(**options: Any) -> np.ndarray[Any, Any]:
    return np.stack([np.asarray(Image.fromarray(one).resize((32, 20), **options)) for one in PICTURES])


def test_pixels_are_pillows() -> None:
    found = pixels_of("int32")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, resized(resample=Image.Resampling.BILINEAR))
    lanczos = pixels_of("int32", resample="lanczos")
    np.testing.assert_array_equal(lanczos, resized(resample=Image.Resampling.LANCZOS))


def test_fractions_are_scaled_as_models_were_trained_on() -> None:
    whole = resized(resample=Image.Resampling.BILINEAR)
    wanted = ((whole / 255 - MEAN) / STD).transpose(0, 3, 1, 2)
    found = pixels_of("float", mean=MEAN, std=STD, layout="chw")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    plain = pixels_of("double", dtype="double")
    np.testing.assert_allclose(plain, whole / 255)
    np.testing.assert_allclose(pixels_of("float", mean=MEAN), whole / 255 - MEAN, atol=1e-7)


@pytest.mark.parametrize(("fit", "function"), [("crop", ImageOps.fit), ("pad", ImageOps.pad)])
def test_an_image_of_another_shape_is_cropped_or_padded(fit: str, function: Any) -> None:
    wanted = [function(Image.fromarray(one), (32, 20), Image.Resampling.BILINEAR) for one in PICTURES]
    np.testing.assert_array_equal(pixels_of("int32", fit=fit), np.stack([np.asarray(one) for one in wanted]))


@pytest.mark.parametrize(
    ("colors", "mode", "channels"), [("gray", "L", 1), ("rgba", "RGBA", 4), ("rgb", "RGB", 3)]
)
def test_colours_are_those_wanted(colors: str, mode: str, channels: int) -> None:
    node = node_of(size=[40, 50], colors=colors, outputs={"p": f"array<int32>[40,50,{channels}]"})
    found = load_node(FOLDER, {"i": "bytes"}, node)({"i": objects(png(PICTURES[0]))})["p"]
    wanted = np.asarray(Image.fromarray(PICTURES[0]).convert(mode)).reshape(1, 40, 50, channels)
    np.testing.assert_array_equal(found, wanted)


def test_a_photo_is_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    Image.fromarray(PICTURES[0]).save(file, "PNG", exif=exif)
    node = node_of(size=[50, 40], outputs={"p": "array<int32>[50,40,3]"})
    found = load_node(FOLDER, {"i": "bytes"}, node)({"i": objects(file.getvalue())})["p"]
    np.testing.assert_array_equal(found[0], np.rot90(PICTURES[0], -1))


@pytest.mark.parametrize("format_", IMAGE_FORMATS)
@pytest.mark.parametrize("mode", ["RGB", "L", "P"])
@pytest.mark.parametrize("orientation", [1, 6])
def test_pictures_of_each_format_are_pillows(format_: str, mode: str, orientation: int) -> None:
    picture, exif = Image.fromarray(pixels(3, 32, 32)), Image.Exif()
    exif[0x0112] = orientation
    file, more = io.BytesIO(), {"append_images": [picture], "save_all": True} if format_ in SEVERAL else {}
    as_saved = picture if (format_, mode) == ("JPEG", "P") else picture.convert(mode)
    as_saved.save(file, format_, exif=exif, **more)
    node = node_of(size=[32, 32], outputs={"p": "array<int32>[32,32,3]"})
    found = load_node(FOLDER, {"i": "bytes"}, node)({"i": objects(file.getvalue())})["p"]
    wanted = ImageOps.exif_transpose(Image.open(file)).convert("RGB")
    np.testing.assert_array_equal(found[0], np.asarray(wanted))


@pytest.mark.parametrize(("height", "width"), [(1, 5_000), (5_000, 1)])
@pytest.mark.parametrize("fit", ["stretch", "crop", "pad"])
def test_an_image_as_thin_as_a_hair_keeps_a_pixel(height: int, width: int, fit: str) -> None:
    white = png(np.full((height, width, 3), 255, np.uint8))
    node = node_of(size=[4, 6], fit=fit, outputs={"p": "array<int32>[4,6,3]"})
    found = load_node(FOLDER, {"i": "bytes"}, node)({"i": objects(white)})["p"]
    shown = (found[0, :, :, 0] == 255).sum()
    assert shown == (24 if fit != "pad" else max(4 if height > 1 else 0, 6 if width > 1 else 0))


def test_bad_rows_fail_alone() -> None:
    node = node_of(max_pixels=2_050, outputs={"p": "array<int32>[20,32,3]"})
    good, large = map(png, PICTURES)
    with pytest.raises(SomeFailed) as caught:
        load_node(FOLDER, {"i": "bytes"}, node)({"i": objects(b"", good, large, good[:90], good)})
    assert caught.value.columns["p"].shape == (2, 20, 32, 3)
    faults = caught.value.faults
    assert {at: error.code for at, error in faults.items()} == dict.fromkeys([0, 2, 3], "wrong_value")
    assert "70 x 30 pixels, more than the 2050 that are allowed" in faults[2].message
    with pytest.raises(SomeFailed):
        load_node(FOLDER, {"i": "bytes"}, node)({"i": objects(b"")})


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"size": None}, [("missing_key", "size")]),
        ({"size": [224]}, [("bad_value", "size")]),
        ({"size": [0, 5]}, [("bad_value", "size")]),
        ({"size": [20.0, 5]}, [("bad_value", "size")]),
        ({"layout": "nchw"}, [("bad_value", "layout")]),
        ({"dtype": "int32"}, [("bad_value", "dtype")]),
        ({"mean": [0.5]}, [("bad_value", "mean")]),
        ({"mean": [0.5, "a", 0.5]}, [("bad_value", "mean")]),
        ({"std": [1, 0, 1]}, [("bad_value", "std[1]")]),
        ({"std": STD, "dtype": "uint8"}, [("bad_value", "dtype")]),
        ({"max_pixels": 0}, [("bad_value", "max_pixels")]),
        ({"inputs": ["t"]}, [("type_mismatch", "inputs[0]")]),
        ({"layout": "chw"}, [("type_mismatch", "outputs.pixels")]),
    ],
)
def test_what_is_wrong(change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    node = {**node_of(outputs={"pixels": "array<float>[20,32,3]"}), **change}
    assert problems_of(FOLDER, {"i": "bytes", "t": "string"}, node) == wanted
