"""Scripted models with answers in one another, and one that changes what it is given."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tests.support.conformance import write

torch.manual_seed(0)


class Heads(NamedTuple):
    odds: Tensor
    value: Tensor


class TwoHeads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.4))
        self.odds, self.value = torch.nn.Linear(4, 3), torch.nn.Linear(4, 1)

    def forward(self, x):
        y = self.body(x)
        return Heads(torch.softmax(self.odds(y), 1), self.value(y))


class Deep(torch.nn.Module):
    def forward(self, x: Tensor, factor: float = 2.0):
        return x * factor, (x.sum(1), {"least": x.min(1)[0], "greatest": x.max(1)[0]})


class Found(torch.nn.Module):
    def forward(self, x):
        found: list[dict[str, Tensor]] = []
        for row in x:
            found.append({"large": row[row > 0.2], "count": (row > 0.2).sum()})
        return found


class Own(torch.nn.Module):
    def forward(self, first, second):
        first.mul_(2.0)  # changes what it is given
        return first + second, second


heads, deep = TwoHeads().eval(), Deep()
torch.jit.script(heads).save("heads.pt")
torch.jit.script(deep).save("deep.pt")
torch.jit.script(Found()).save("found.pt")
torch.jit.script(Own()).save("own.pt")
x = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3)
given = torch.tensor(x)
with torch.inference_mode():
    tripled, (total, ends) = deep(given, 3.0)
    found = Found()(given)
    write(
        {"x": x},
        odds=heads(given).odds.numpy(),
        value=heads(given).value.numpy()[:, 0],
        tripled=tripled.numpy(),
        total=total.numpy(),
        least=ends["least"].numpy(),
        greatest=ends["greatest"].numpy(),
        large=[one["large"].numpy() for one in found],
        count=[int(one["count"]) for one in found],
        changed=(given * 2 + given).numpy(),
        kept=x,
    )
