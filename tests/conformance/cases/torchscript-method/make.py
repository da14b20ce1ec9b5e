"""Scripted methods with arguments by name, with a default, and by keyword alone; none calls its module self."""

import json

import torch


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
rows = [{"left": [1.0, 2.0], "right": [0.5, 4.0]}, {"left": [0.0, -1.0], "right": [7.0, 1.0]}]
model = Model()
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    for row in rows:
        left, right = torch.tensor(row["left"]), torch.tensor(row["right"])
        answer = {
            "plain": model.scaled(left, right).tolist(),
            "tenfold": model.scaled(left, right, 10.0).tolist(),
            "strict": model.strict(left, times=3.0).tolist(),
        }
        out.write(json.dumps(row) + "\n")
        expected.write(json.dumps(answer) + "\n")
