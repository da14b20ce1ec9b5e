"""``make audit``: looks for known weaknesses of what this project depends on.

Python's locks are compared with the advisories that PyPI serves, Go's with Go's database. Where neither can be reached,
as behind a mirror that serves packages only, that is said: nothing was audited then, and nothing is known to be well.
Java's are in the bill of materials that ``make release-check`` makes, for a scanner that takes those.
"""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from scripts.environments import locked_environment
from scripts.layout import GO_MODULE, REQUIREMENTS
from scripts.shell import CommandFailed, Missing
from scripts.steps import Step, run_steps, show_failures
from scripts.toolchains import go

_PIN: Final = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)
_KNOWN_TO_BE_WEAK: Final = ("requests", "2.19.0")
"""A source that has no advisory for this one (CVE-2018-18074) has none at all."""
_GO_AUDIT: Final = "golang.org/x/vuln/cmd/govulncheck@v1.1.4"
_WEAK: Final = "Vulnerability #"
"""What govulncheck heads each of its findings with; 'go run' loses its exit code."""
Pin = tuple[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Weakness:
    """A known weakness of a package.

    Attributes:
        pin: The package and its version.
        name: Of the advisory.
        mended_in: Versions without it.
    """

    pin: Pin
    name: str
    mended_in: tuple[str, ...]

    def __str__(self) -> str:
        mended = ", ".join(self.mended_in) or "no version yet"
        return f"{'=='.join(self.pin)}: {self.name}, mended in {mended}"


def of_python() -> str:
    """Audits all locks; gives a note.

    Raises:
        Missing: No advisories can be reached.
        CommandFailed: There are known weaknesses, or a package that the source does not know.
    """
    if not weaknesses(_asked([_KNOWN_TO_BE_WEAK])):
        raise Missing(
            "NOT AUDITED: the package index serves no advisories here; run 'make audit' where pypi.org is reached"
        )
    pins = sorted({pin for lock in REQUIREMENTS.glob("*.txt") for pin in pins_of(lock)})
    answers = [answer for some in versions_apart(pins) for answer in _asked(some)]
    unknown = [f"{answer['name']}: {answer['skip_reason']}" for answer in answers if "skip_reason" in answer]
    found = [*map(str, weaknesses(answers)), *unknown]
    if found:
        raise CommandFailed("\n".join(found))
    return f"{len(pins)} packages, no known weaknesses"


def of_go() -> str:
    """Audits the Go module: what of its dependencies its code calls. Result and errors as for Python's."""
    command = [str(go.require().path), "run", _GO_AUDIT, "./..."]
    done = subprocess.run(
        command, cwd=GO_MODULE, env=go.environment(), capture_output=True, text=True, check=False
    )
    if _WEAK in done.stdout:
        raise CommandFailed(done.stdout)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line and not line.startswith("exit status")]
        raise Missing(f"NOT AUDITED: {said[-1] if said else 'govulncheck failed and said nothing'}")
    return "no known weaknesses in what is called"


def pins_of(lock: Path) -> list[Pin]:
    """Returns the packages of a lock and their versions."""
    return [(name, version) for name, version in _PIN.findall(lock.read_text(encoding="utf-8"))]


def versions_apart(pins: Iterable[Pin]) -> list[list[Pin]]:
    """Splits pins so that none of the lists has two versions of one package."""
    lists: list[dict[str, str]] = []
    for name, version in pins:
        free = next((some for some in lists if name not in some), None)
        if free is None:
            lists.append(free := {})
        free[name] = version
    return [list(some.items()) for some in lists]


def weaknesses(answers: Iterable[dict[str, Any]]) -> list[Weakness]:
    """Returns what an audit has found, of what pip-audit says of each package."""
    return [
        Weakness((answer["name"], answer["version"]), found["id"], tuple(found.get("fix_versions", ())))
        for answer in answers
        for found in answer.get("vulns", ())
    ]


def _asked(pins: Sequence[Pin]) -> list[dict[str, Any]]:
    """Returns what pip-audit says about each package."""
    tool = locked_environment("release") / "bin" / "pip-audit"
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{name}=={version}\n" for name, version in pins)
        file.flush()
        flags = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json"]
        command = [str(tool), "--vulnerability-service=pypi", *flags, "--requirement", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answers: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise Missing(f"NOT AUDITED: pip-audit cannot reach the package index ({last})") from None
    return answers


STEPS: Final = (
    Step("audit of Python", "known weaknesses of all locks", of_python),
    Step("audit of Go", "known weaknesses of what is called", of_go),
)


def main() -> int:
    """Audits; returns 0 where all was, 1 where something is weak, 2 where not all could be audited."""
    outcomes = run_steps(STEPS)
    if show_failures(outcomes):
        return 1
    return 0 if all(outcome.well for outcome in outcomes.values()) else 2


if __name__ == "__main__":
    sys.exit(main())
