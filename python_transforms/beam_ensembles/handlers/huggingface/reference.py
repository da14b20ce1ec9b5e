"""The table of tasks as Markdown, for ``docs/reference/huggingface.md``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from beam_ensembles.handlers.huggingface.arguments import BATCH_SIZE, GENERATION
from beam_ensembles.handlers.huggingface.tasks import TASKS, Task

START: Final = "<!-- tasks: made by beam_ensembles.handlers.huggingface.reference -->"
END: Final = "<!-- end of tasks -->"


def reference() -> str:
    """Writes what every task reads, gives and takes."""
    parts = [line for name, task in sorted(TASKS.items()) for line in _task(name, task)]
    generation = ", ".join(f"`{name}`" for name in GENERATION)
    return "\n".join([*parts, f"Arguments of generation: {generation}.", ""])


def rewritten(page: str) -> str:
    """Returns a page with its table made anew.

    Raises:
        ValueError: The page has no place for it.
    """
    before, _, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page lacks '{START}' or '{END}'")
    return f"{before}{START}\n\n{reference()}\n{END}{after}"


def _task(name: str, task: Task) -> Iterator[str]:
    by = "a pipeline" if task.model_class is None else f"`{task.model_class}`"
    yield f"### `{name}`\n\n{task.summary} By {by}.\n"
    yield "| input | meaning | value | |\n|---|---|---|---|"
    for port, given in task.inputs.items():
        need = "" if given.required else "optional"
        yield f"| `{port}` | {given.description} | {_cell(given.media.wanted)} | {need} |"
    yield "\n| output | type | |\n|---|---|---|"
    for port, found in task.outputs.items():
        yield f"| `{port}` | `{found.type}` | {found.description} |"
    writes = set(task.arguments) & {"max_new_tokens"}
    own = [argument for argument in task.arguments if not writes or argument not in GENERATION]
    more = " and those of generation" if writes else ""
    yield f"\n`inference_args`: {', '.join(f'`{one}`' for one in (BATCH_SIZE, *own))}{more}.\n"


def _cell(text: str) -> str:
    return text.replace("<", "\\<")
