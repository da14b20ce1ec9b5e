"""PyTorch's ``meta`` device stands in for a GPU: weights can be there, nothing runs. Test folders take the fixtures."""

from __future__ import annotations

from typing import Any, Final

import pytest

MOST: Final = (
    r"the model cannot run on the GPU: its memory does not hold the model \(OutOfMemoryError: CUDA out of"
)
"""What a node says whose GPU holds no model."""


@pytest.fixture
def stand_in_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the device ``meta`` stand in for a GPU."""
    import torch

    from beam_ensembles.handlers.pytorch import device

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(device, "gpu", lambda: torch.device("meta"))


@pytest.fixture
def full_gpu(stand_in_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the stand-in hold no model, as CUDA says it."""
    import torch

    move = torch.nn.Module.to

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.device("meta") in args:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return move(self, *args, **kwargs)

    monkeypatch.setattr(torch.nn.Module, "to", to)
