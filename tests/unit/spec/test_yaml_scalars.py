"""The core schema of YAML 1.2, whose words PyYAML's own loaders read as YAML 1.1."""

from __future__ import annotations

import math

import pytest

from beam_ensembles.spec.yaml_scalars import plain_value


@pytest.mark.parametrize(
    "text",
    [
        "no", "yes", "on", "off", "y", "N", "truE", "nULL", "None", "1:30", "190:20:30", "2024-05-01",
        "0b101", "1_000", "0o8", "0xg", "-", "+", ".", "-.", "e5", "1e", "..1", "<<", "=", "array<double>",
    ],
)  # fmt: skip
def test_text_stays_text(text: str) -> None:
    assert plain_value(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("0", 0),
        ("-12", -12),
        ("+3", 3),
        ("007", 7),
        ("0o17", 15),
        ("0xFF", 255),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e-3", -0.0015),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2.0**63),
        ("9" * 5000, math.inf),
        ("-" + "9" * 5000, -math.inf),
    ],
)
def test_null_truth_values_and_numbers(text: str, value: object) -> None:
    found = plain_value(text)
    assert found == value
    assert type(found) is type(value)


def test_nan() -> None:
    found = plain_value(".nan")
    assert isinstance(found, float)
    assert math.isnan(found)
