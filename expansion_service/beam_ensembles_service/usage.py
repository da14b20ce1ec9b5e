"""The error of a program that was called wrongly."""

from __future__ import annotations


class UsageError(Exception):
    """A program of the service was called wrongly; the message is one sentence."""
