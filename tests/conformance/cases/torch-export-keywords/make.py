"""An exported program with an argument by keyword and one left at its default, which squeezes its answer."""

import torch

from tests.support.conformance import write


class Model(torch.nn.Module):
    def forward(this, first, *, second, times=3.0):
        return ((first - second).sum(1, keepdim=True) * times).squeeze(1)


one, other, rows = (
    torch.ones(2, 2),
    torch.zeros(2, 2),
    torch.export.Dim("rows"),
)  # one tensor alone would be one input
dims = {"first": {0: rows}, "second": {0: rows}}
torch.export.save(torch.export.export(Model(), (one,), {"second": other}, dynamic_shapes=dims), "m.pt2")
data = {"left": [[1.0, 2.0], [0.0, -1.0]], "right": [[0.5, 4.0], [7.0, 1.0]]}
left, right = map(torch.tensor, data.values())
write(data, y=Model()(left, second=right))
