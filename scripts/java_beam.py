"""The versions of Beam for Java with which the integration tests run one built jar of the client."""

from __future__ import annotations

from typing import Final

TESTED: Final = ("2.65.0", "2.70.0", "2.73.0")
"""The oldest, one between, and the newest whose core and harness Maven Central had whole when this was written."""
