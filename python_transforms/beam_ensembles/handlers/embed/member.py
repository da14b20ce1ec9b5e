"""A model of vectors as a node: sends the texts of many rows with each call."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import numpy as np
import openai

from beam_ensembles.errors import BatchFailed, NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.embed.model import EmbedOptions
from beam_ensembles.handlers.openai_interface.calls import Calls, Session
from beam_ensembles.handlers.openai_interface.loading import calls_of
from beam_ensembles.handlers.support.answered_rows import listener
from beam_ensembles.handlers.support.call_counts import MALFORMED, SHARED, count
from beam_ensembles.types import Array


def load_embed(node: CheckedNode[EmbedOptions]) -> EmbedMember:
    """Returns the loaded node; nobody is called yet.

    Raises:
        InvalidEnsemble: A secret is not on this worker, or cannot be a header.
    """
    return EmbedMember(node, calls_of(node, 0))


class EmbedMember:
    """A node of vectors.

    Args:
        node: The node.
        calls: Makes the calls.
    """

    def __init__(self, node: CheckedNode[EmbedOptions], calls: Calls) -> None:
        self._calls, self._options = calls, node.options
        ((self._column, type_),) = node.outputs.items()
        assert isinstance(type_, Array)  # noqa: S101 - the check saw to it
        self._length = None if type_.shape is None else type_.shape[0]
        self._dtype = np.float64 if str(type_.element) == "double" else np.float32

    def __call__(self, columns: Columns) -> Columns:
        """Asks for the vectors of all rows; equal texts are sent once.

        Raises:
            SomeFailed: Some rows have no vector.
            NodeError: No row has one.
        """
        (texts,) = columns.values()
        rows: dict[str, list[int]] = {}
        for at, text in enumerate(texts.tolist()):
            rows.setdefault(text, []).append(at)
        count(SHARED, len(texts) - len(rows))
        distinct, size = list(rows), self._options.together
        parts = [distinct[at : at + size] for at in range(0, len(distinct), size)]

        async def ask(session: Session, part: Sequence[str]) -> list[Any]:
            vectors = await self._vectors(session, part)
            self._tell([(rows[text], vector) for text, vector in zip(part, vectors, strict=True)])
            return vectors

        found: list[Any] = [None] * len(texts)
        for part, vectors in zip(parts, self._calls.all(ask, parts), strict=True):
            each = [vectors] * len(part) if isinstance(vectors, NodeError) else vectors
            for text, vector in zip(part, each, strict=True):
                for at in rows[text]:
                    found[at] = vector
        return self._columns_of(found)

    async def _vectors(self, session: Session, texts: Sequence[str]) -> list[Any]:
        """Returns the vector of each text, or its error; a call that is refused is split to find the bad text."""

        def create(client: openai.AsyncOpenAI) -> Awaitable[Any]:
            more: dict[str, Any] = {"extra_body": dict(self._options.inference_args)}
            if self._options.dimensions is not None:
                more["dimensions"] = self._options.dimensions
            return client.embeddings.create(
                input=list(texts), model=self._options.name, encoding_format="float", **more
            )

        size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
        try:
            return self._read(await session.call(create, size), len(texts))
        except BatchFailed:
            raise
        except NodeError as error:
            if len(texts) == 1:
                return [error]
            middle = len(texts) // 2
            halves = [await self._vectors(session, half) for half in (texts[:middle], texts[middle:])]
            return [*halves[0], *halves[1]]

    def _read(self, answer: Any, texts: int) -> list[Any]:
        """Returns the vectors of an answer in the order of the texts.

        Raises:
            NodeError: ``bad_output``: It has not one for each text.
        """
        data = getattr(answer, "data", None)
        data = data if isinstance(data, list) else []
        numbered = [(getattr(one, "index", None), getattr(one, "embedding", None)) for one in data]
        found = {at: vector for at, vector in numbered if isinstance(at, int)}
        if len(data) != texts or found.keys() != set(range(texts)):
            count(MALFORMED)
            text = f"the server's answer has {len(data)} vectors for {texts} texts, which must be numbered from 0"
            raise NodeError("bad_output", text)
        return [self._vector(found[at]) for at in range(texts)]

    def _vector(self, value: Any) -> Any:
        vector: np.ndarray
        try:
            with np.errstate(over="ignore"):  # such a number is not finite
                vector = np.asarray(value, self._dtype)
        except (TypeError, ValueError, OverflowError):
            vector = np.zeros((), self._dtype)
        if (
            vector.ndim == 1
            and len(vector)
            and np.isfinite(vector).all()
            and self._length in (None, vector.size)
        ):
            return vector
        count(MALFORMED)
        wanted = "numbers" if self._length is None else f"{self._length:,} numbers"
        shown = f"{len(vector):,}" if vector.ndim == 1 else "something else"
        if vector.ndim == 1 and not np.isfinite(vector).all():
            shown = f"a number that is not finite, or too large for {self._dtype.__name__}"
        return NodeError("bad_output", f"a vector of the server has {shown}; {wanted} are wanted")

    def _tell(self, found: Sequence[tuple[Sequence[int], Any]]) -> None:
        tell = listener()
        if tell is None:
            return
        for rows, vector in found:
            if not isinstance(vector, NodeError):
                tell(rows, self._columns_of([vector] * len(rows)))

    def _columns_of(self, found: Sequence[Any]) -> Columns:
        faults = {at: one for at, one in enumerate(found) if isinstance(one, NodeError)}
        good = [one for one in found if not isinstance(one, NodeError)]
        if faults and not good and len(set(map(id, faults.values()))) == 1:
            raise faults[0]
        values: np.ndarray
        if self._length is not None:
            values = np.array(good, self._dtype).reshape(len(good), self._length)
        else:
            values = np.empty(len(good), object)
            values[:] = [vector.tolist() for vector in good]
        if faults:
            raise SomeFailed({self._column: values}, faults)
        return {self._column: values}
