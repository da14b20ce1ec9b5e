"""``python -m tests.benchmarks.stock_service``: Beam's own expansion service, made to work on Prism and on Flink.

Prism keeps one table of metric ids for all workers of a job and panics where those of Go and Python collide; so here
they start elsewhere. Go calls every transform from outside "External", and Flink's job server refuses two steps of one
name; so here they get names of their own. Go asks for an output's coder under an id that its pipeline has for another
one, and takes what comes back for both; so here it does not come back. All else is Beam's.
"""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

from apache_beam.runners.portability import expansion_service, expansion_service_main
from apache_beam.runners.worker import sdk_worker

from scripts.layout import PYTHON
from scripts.processes import serving
from scripts.shell import log_path

_ELSEWHERE = 1 << 40
_READY = re.compile(r"(Listening for expansion requests at \d+)")


@contextlib.contextmanager
def running_stock_service(workers: str | None = None) -> Iterator[str]:
    """Returns the address of a service of Beam's own.

    Args:
        workers: Address of a pool of workers to use; None: a worker in the service's own process.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    external = ["--environment_type=EXTERNAL", f"--environment_config={workers}"]
    where = external if workers else ["--serve_loopback_worker"]
    flags = ["-p", str(port), "--fully_qualified_name_glob=*", *where]
    with serving([PYTHON, "-m", __name__, *flags], _READY, log=log_path("stock-service")):
        yield f"localhost:{port}"


_SERVICER: Any = expansion_service.ExpansionServiceServicer


def _made_to_fit(expand: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    def expanded(servicer: Any, request: Any, context: Any) -> Any:
        request.transform.unique_name += f" {request.namespace}"
        response = expand(servicer, request, context)
        for coder in request.components.coders:
            if not coder.endswith(f"@{request.namespace}"):
                response.components.coders.pop(coder, None)
        return response

    return expanded


def main() -> None:
    """Serves until it is told to stop."""
    logging.getLogger().setLevel(logging.INFO)
    sdk_worker.SHORT_ID_CACHE._last_short_id = _ELSEWHERE
    _SERVICER.Expand = _made_to_fit(_SERVICER.Expand)
    expansion_service_main.main(sys.argv[1:])


if __name__ == "__main__":
    main()
