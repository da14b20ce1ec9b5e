"""Finds indices that an embedding does not have, before a GPU does.

A CPU raises ``IndexError``. A GPU ends the context of the process, and with it all later rows. Here such indices are
replaced on the device, without waiting for it, and the call fails once it is done.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import Columns, Member


class EmbeddingGuard:
    """Watches the embeddings of a module: ``torch.nn.Embedding`` and its subclasses.

    Args:
        module: The module.
    """

    def __init__(self, module: Any) -> None:
        import torch

        self._calls = threading.local()
        for name, one in module.named_modules():
            if isinstance(one, torch.nn.Embedding):
                one.register_forward_pre_hook(functools.partial(self._replace, name))

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        """Checks all indices of the calls within the block, in this thread.

        Raises:
            NodeError: ``wrong_value``: an embedding does not have one.
        """
        wrong: dict[tuple[str, int], Any] = {}
        self._calls.wrong = wrong
        try:
            yield
        finally:
            self._calls.wrong = None
        for (name, rows), is_wrong in wrong.items():
            if bool(is_wrong):
                what = f"the model's embedding '{name}' has the rows 0 to {rows - 1}"
                is_place = "position" in name or name.endswith("wpe")
                how = (
                    "it is given more tokens than it reads"
                    if is_place
                    else "an id that it is given is another"
                )
                raise NodeError("wrong_value", f"{what}: {how}")

    def _replace(self, name: str, module: Any, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        wrong = getattr(self._calls, "wrong", None)
        if wrong is None or not given:
            return None
        indices, *rest = given
        kept = indices.clamp(0, module.num_embeddings - 1)
        key = (name, module.num_embeddings)
        is_wrong = (kept != indices).any()
        wrong[key] = is_wrong if key not in wrong else wrong[key] | is_wrong
        return (kept, *rest)


class GuardedMember:
    """A member whose model's embeddings are watched.

    Args:
        member: The member.
        guard: What watches them.
    """

    def __init__(self, member: Member, guard: EmbeddingGuard) -> None:
        self._member, self._guard = member, guard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)

    def __call__(self, columns: Columns) -> Columns:
        """Runs the member.

        Raises:
            NodeError: ``wrong_value``: an index is out of range.
        """
        with self._guard.checked():
            return self._member(columns)


def guarded(member: Member, module: Any, device: Any) -> Member:
    """Returns a member whose embeddings are watched where its module is not on a CPU, which watches them itself."""
    return member if device.type == "cpu" else GuardedMember(member, EmbeddingGuard(module))
