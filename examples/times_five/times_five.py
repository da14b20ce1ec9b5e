"""The model: one weight and one bias."""

from __future__ import annotations

import torch


class LinearRegression(torch.nn.Module):
    """A linear layer: float32 [N, input_dim] to [N, output_dim]."""

    def __init__(self, input_dim: int, output_dim: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(input_dim, output_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the layer's output."""
        result: torch.Tensor = self.linear(x)
        return result
