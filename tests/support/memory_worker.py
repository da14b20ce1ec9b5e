"""``python -m tests.support.memory_worker THREADS``: a worker that loads ensembles, each used by several threads.

For each line of standard input, the path of an ensemble file, it loads it as Beam's RunInference does, has every
thread score the same rows at the same time, prints the answers as JSON, and keeps the model.
"""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from apache_beam.pvalue import Row

from beam_ensembles import EnsembleModelHandler

_ROWS = 8


def main(threads: int) -> None:
    """Does that until standard input ends."""
    kept = []
    with ThreadPoolExecutor(threads) as pool:
        for line in sys.stdin:
            handler = EnsembleModelHandler(line.rstrip("\n"))
            model = handler.load_model()
            kept.append(model)
            together = threading.Barrier(threads)

            def score(
                _: int, handler: Any = handler, model: Any = model, together: Any = together
            ) -> list[Any]:
                together.wait()
                rows = [Row(x=[float(at), 1.0, 2.0, 3.0]) for at in range(_ROWS)]
                return [one.inference.y for one in handler.run_inference(rows, model)]

            print(json.dumps(list(pool.map(score, range(threads)))), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
