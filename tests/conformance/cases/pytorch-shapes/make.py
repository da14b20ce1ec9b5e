"""A dictionary, a tuple, an embedding of whole numbers, and an exported program."""

import numpy as np
import torch

from tests.support.conformance import write

torch.manual_seed(0)


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x):
        y = self.linear(x)
        return {"logits": y, "score": y.sum(1)}


class Pair(Named):
    def forward(self, x):
        y = self.linear(x)
        return y, y.max(1)[0]


class Plain(Named):
    def forward(self, x):
        return torch.softmax(self.linear(x), 1)


named, pair, plain = Named().eval(), Pair().eval(), Plain().eval()
words = torch.nn.Embedding(5, 2).eval()
x = torch.tensor(np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3))
ids = torch.tensor([[at % 5, (at * 3) % 5] for at in range(7)])
torch.jit.trace(named, x, strict=False).save("named.pt")
torch.jit.trace(pair, x).save("pair.pt")
torch.jit.script(words).save("words.pt")
torch.export.save(
    torch.export.export(plain, (x,), dynamic_shapes=({0: torch.export.Dim("n", min=1)},)), "exported.pt2"
)
with torch.inference_mode():
    first, second = pair(x)
    write(
        {"x": x.numpy(), "ids": ids.numpy()},
        logits=named(x)["logits"].numpy(),
        score=named(x)["score"].numpy(),
        first=first.numpy(),
        second=second.numpy(),
        words=words(ids).reshape(7, 4).numpy(),
        exported=plain(x).numpy(),
    )
