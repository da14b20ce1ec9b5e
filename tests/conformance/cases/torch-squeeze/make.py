"""Two models that squeeze: [N, 1] to [N], and [N, 3] kept. Three rows in batches of two end in a batch of one."""

import torch

from tests.support.conformance import write


class One(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.linear(x).squeeze()


class Three(One):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)


models = {"one": One().eval(), "three": Three().eval()}
for name, model in models.items():
    torch.jit.script(model).save(f"{name}.pt")
rows = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [1.0, 0.0, 1.0]]
with torch.no_grad():
    one, three = (model(torch.tensor(rows)).tolist() for model in models.values())
write({"x": rows}, one=one, three=three, pairs=three)
