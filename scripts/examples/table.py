"""The examples, one line each."""

from __future__ import annotations

from scripts.example import Example

EXAMPLES = (Example("ab_test", java="abtest.AbTest", scored=1200, summary=True),)
