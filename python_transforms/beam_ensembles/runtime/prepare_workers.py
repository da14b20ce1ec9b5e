"""``python -m beam_ensembles.runtime.prepare_workers``: has an image's workers prepared before Beam's harness runs.

Beam's ``boot`` starts a module of Beam's own, so what is to run before it is a line that Python reads when it starts.
"""

from __future__ import annotations

import site
from pathlib import Path
from typing import Final

HARNESS: Final = "apache_beam.runners.worker.sdk_worker"
"""In the arguments of every Python that ``boot``, or Beam's worker pool without it, starts as a worker."""

LINE: Final = (
    f"import sys; any('{HARNESS}' in word for word in sys.orig_argv)"
    " and __import__('beam_ensembles.runtime.worker_setup', fromlist=['prepare']).prepare()\n"
)


def main() -> None:
    """Writes the line to where this Python finds its packages."""
    file = Path(site.getsitepackages()[0], "beam_ensembles_workers.pth")
    file.write_text(LINE, encoding="utf-8")


if __name__ == "__main__":
    main()
