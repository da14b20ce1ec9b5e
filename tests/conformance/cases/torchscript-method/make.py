"""Scripted methods with arguments by name, with a default, and by keyword alone; none calls its module self."""

import torch

from tests.support.conformance import write


class Model(torch.nn.Module):
    def forward(this, first):
        return first

    @torch.jit.export
    def scaled(this, first, second, times: float = 1.0):
        return (first - second) * times

    @torch.jit.export
    def strict(me, first, *, times: float):
        return first * times


torch.jit.script(Model()).save("m.pt")
rows = {"left": [[1.0, 2.0], [0.0, -1.0]], "right": [[0.5, 4.0], [7.0, 1.0]]}
left, right = map(torch.tensor, rows.values())
model = Model()
write(
    rows,
    plain=model.scaled(left, right),
    tenfold=model.scaled(left, right, 10.0),
    strict=model.strict(left, times=3.0),
)
