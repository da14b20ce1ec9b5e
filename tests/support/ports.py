"""Ports of this machine that nobody uses."""

from __future__ import annotations

from scripts.processes import free_ports

__all__ = ["free_ports"]
