"""What ``calibrate`` computes: temperature, Platt and isotonic, and the JSON file that holds their parameters.

The values are those of scikit-learn's ``CalibratedClassifierCV``: one calibrator per class and shares of their sum, for
two classes the one of the second; a temperature divides the logarithms of all.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.files.bounded_json import JsonError, load_json

TEMPERATURE: Final = "temperature"
PLATT: Final = "platt"
ISOTONIC: Final = "isotonic"
METHODS: Final = (TEMPERATURE, PLATT, ISOTONIC)

_ABOVE_ZERO: Final = 1e-12
"""What scikit-learn adds to a probability before it takes the logarithm."""
_MOST_BYTES: Final = 16 << 20
_KEYS: Final = {TEMPERATURE: ("temperature",), PLATT: ("a", "b"), ISOTONIC: ("x", "y")}


class CalibrationError(ValueError):
    """A file holds no calibration; the message says why in one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted calibration.

    Attributes:
        method: One of ``METHODS``.
        classes: How many classes it is for; 0 for a temperature, which is for any number.
        temperature: What the logarithms are divided by.
        a: Of Platt the slope of each calibrator.
        b: Of Platt the intercept of each calibrator.
        x: Of isotonic the probabilities of the steps of each calibrator, rising.
        y: Of isotonic what they become.
    """

    method: str
    classes: int = 0
    temperature: float = 1.0
    a: tuple[float, ...] = ()
    b: tuple[float, ...] = ()
    x: tuple[tuple[float, ...], ...] = ()
    y: tuple[tuple[float, ...], ...] = ()

    def __call__(self, shares: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns the calibrated probabilities of rows, ``[N, classes]``, from others of that shape."""
        if self.method == TEMPERATURE:
            logits = np.log(shares + _ABOVE_ZERO) / self.temperature
            powers = np.exp(logits - logits.max(axis=1, keepdims=True))
            return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        if self.classes == 2:
            second = self._one(0, shares[:, 1])
            return np.stack([1 - second, second], axis=1)
        found = np.stack([self._one(at, shares[:, at]) for at in range(self.classes)], axis=1)
        total = found.sum(axis=1, keepdims=True)
        even = np.full_like(found, 1 / self.classes)
        return np.asarray(np.divide(found, total, out=even, where=total != 0))

    def _one(self, at: int, shares: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self.method == PLATT:
            with np.errstate(over="ignore"):
                return np.asarray(1 / (1 + np.exp(self.a[at] * shares + self.b[at])))
        return np.asarray(np.interp(shares, self.x[at], self.y[at]))

    def text(self) -> bytes:
        """Returns the content of its file."""
        own = {key: getattr(self, key) for key in _KEYS[self.method]}
        known = {"classes": self.classes} if self.classes else {}
        return f"{json.dumps({'method': self.method, **known, **own}, indent=1)}\n".encode()


def read_calibration(path: str) -> Calibration:
    """Reads a file.

    Raises:
        CalibrationError: It holds none.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        try:
            found = load_json(file, most_bytes=_MOST_BYTES)
        except JsonError as error:
            raise CalibrationError("the file is not JSON, or holds too much") from error
    if not isinstance(found, Mapping) or found.get("method") not in METHODS:
        raise CalibrationError(f"the file has no 'method' (allowed: {', '.join(METHODS)})")
    method, keys = str(found["method"]), _KEYS[str(found["method"])]
    wanted = ("method", *keys) if method == TEMPERATURE else ("method", "classes", *keys)
    if set(found) != set(wanted):
        raise CalibrationError(f"the keys of '{method}' are {', '.join(wanted)}")
    if method == TEMPERATURE:
        if not _is_number(found["temperature"]) or not found["temperature"] > 0:
            raise CalibrationError("'temperature' must be a number above 0")
        return Calibration(method, temperature=float(found["temperature"]))
    classes = found["classes"]
    if type(classes) is not int or classes < 2:
        raise CalibrationError("'classes' must be a whole number of at least 2")
    count = 1 if classes == 2 else classes
    lists = [found[key] for key in keys]
    if any(not isinstance(one, list) or len(one) != count for one in lists):
        raise CalibrationError(
            f"{' and '.join(map(repr, keys))} must be lists of {count}, one per calibrator"
        )
    if method == PLATT:
        if not all(_is_number(one) for each in lists for one in each):
            raise CalibrationError("'a' and 'b' must hold finite numbers")
        a, b = (tuple(map(float, one)) for one in lists)
        return Calibration(method, classes, a=a, b=b)
    x, y = (tuple(_numbers(one) for one in each) for each in lists)
    for steps, values in zip(x, y, strict=True):
        if len(steps) != len(values) or not steps or list(steps) != sorted(steps):
            raise CalibrationError("'x' must rise, and 'y' have as many numbers")
        if any(not 0 <= value <= 1 for value in values):
            raise CalibrationError("'y' must hold probabilities from 0 to 1")
    return Calibration(method, classes, x=x, y=y)


def _numbers(values: Any) -> tuple[float, ...]:
    if not isinstance(values, list) or not all(_is_number(one) for one in values):
        raise CalibrationError("'x' and 'y' must hold lists of finite numbers")
    return tuple(map(float, values))


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest double
        return False
