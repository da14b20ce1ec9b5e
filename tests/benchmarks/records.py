"""What was recorded, run after run: a run of a part takes the place of what it measures anew, and leaves the rest.

``results.json`` has the runs, the latest first; ``RESULTS.md`` and ``results.svg`` are made of it. A comparison is of
one run in any case; what the page shows of several runs bears a run's number.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.measuring import Found
from tests.benchmarks.memory import Held
from tests.benchmarks.peak_memory import Peak
from tests.benchmarks.peers_table import LOOP, Rates
from tests.benchmarks.sampling import Rate
from tests.benchmarks.service_load import Load


@dataclasses.dataclass(frozen=True)
class Record:
    """A run.

    Attributes:
        command: What measures the same again.
        machine: What it was measured on, and the commit.
        found: What it found that no later run has found anew.
    """

    command: str
    machine: Mapping[str, str]
    found: Found

    def without(self, later: Found) -> Record:
        """Gives what is left of it after a later run."""
        anew = set(map(line_of, later.comparisons))
        found = Found(
            {key: rate for key, rate in self.found.rates.items() if key not in later.rates},
            [one for one in self.found.comparisons if line_of(one) not in anew],
            [] if later.held else self.found.held,
            [] if later.peaks else self.found.peaks,
            [] if later.loads else self.found.loads,
        )
        return dataclasses.replace(self, found=found)


def line_of(comparison: Comparison) -> tuple[str, str, str, str]:
    """Gives what a comparison is about, without what was measured."""
    return comparison.ensemble, comparison.caller, comparison.what, comparison.against


def with_latest(records: Sequence[Record], latest: Record) -> list[Record]:
    """Adds a run; those before lose what it has found anew, and go where nothing is left of them."""
    left = [record.without(latest.found) for record in records]
    return [latest, *(record for record in left if record.found != Found())]


def in_one_picture(records: Sequence[Record]) -> Rates:
    """Gives of each ensemble the rates of the latest run that measured the models alone: only they may be compared."""
    shown: dict[tuple[str, str], Rate] = {}
    for record in reversed(records):
        alone = {ensemble for ensemble, caller in record.found.rates if caller == LOOP}
        shown = {key: rate for key, rate in shown.items() if key[0] not in alone}
        shown |= {key: rate for key, rate in record.found.rates.items() if key[0] in alone}
    return shown


def as_data(found: Found) -> dict[str, Any]:
    """Gives what was found as plain data."""
    return {
        "comparisons": [dataclasses.asdict(one) | {"reached": one.reached} for one in found.comparisons],
        "rates": [
            {"ensemble": ensemble, "caller": caller, **dataclasses.asdict(rate)}
            for (ensemble, caller), rate in found.rates.items()
        ],
        "held": [dataclasses.asdict(one) for one in found.held],
        "peaks": [dataclasses.asdict(one) | {"reached": one.reached} for one in found.peaks],
        "loads": [dataclasses.asdict(one) for one in found.loads],
    }


def of_data(data: Mapping[str, Any]) -> Found:
    """Reads what ``as_data`` gives, also after it was JSON."""
    return Found(
        {(one["ensemble"], one["caller"]): _made(Rate, one) for one in data["rates"]},
        [_made(Comparison, one) for one in data["comparisons"]],
        [_made(Held, one) for one in data["held"]],
        [_made(Peak, one) for one in data["peaks"]],
        [
            Load(**{**one, "memory": {int(done): size for done, size in one["memory"].items()}})
            for one in data["loads"]
        ],
    )


def _made(type_: type[Any], data: Mapping[str, Any]) -> Any:
    return type_(**{field.name: data[field.name] for field in dataclasses.fields(type_)})


def read(path: Path) -> list[Record]:
    """Reads the runs; none where there is no such file."""
    if not path.exists():
        return []
    runs = json.loads(path.read_text(encoding="utf-8"))
    return [Record(run["command"], run["machine"], of_data(run)) for run in runs]


def write(records: Sequence[Record], path: Path) -> None:
    """Writes the runs."""
    runs = [
        {"command": record.command, "machine": dict(record.machine), **as_data(record.found)}
        for record in records
    ]
    path.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
