"""Models of transformers."""

from __future__ import annotations

from tests.support.transformers_fixture import models

__all__ = ["models"]
