"""The steps of the acceptance run, in their order."""

from __future__ import annotations

from typing import Final

from scripts.gpu_acceptance import faults, machine, memory, parity, rates, sharing
from scripts.gpu_acceptance.setting import Step

STEPS: Final = (
    Step("versions", 30, machine.versions),
    Step("tests", 90, machine.gpu_tests),
    Step("parity", 60, parity.parity),
    Step("text_rates", 100, rates.texts),
    Step("image_rates", 100, rates.pictures),
    Step("out_of_memory", 40, memory.out_of_memory),
    Step("nearly_full", 40, memory.nearly_full),
    Step("long_text", 40, faults.long_text),
    Step("stage_processes", 60, sharing.stage_processes),
    Step("shared_model", 60, sharing.shared_model),
    Step("refreshes", 40, sharing.refreshes),
    Step("seeds", 40, sharing.seeds),
    Step("copies", 30, memory.copies),
)
"""All steps, each with its limit in seconds; the whole run has one of its own."""
