"""The error for wrong usage of a program."""

from __future__ import annotations


class UsageError(Exception):
    """The arguments of a program are wrong; the message is one sentence."""
