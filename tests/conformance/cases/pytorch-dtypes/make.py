"""Models that count in 16 and in 64 bits, and exported programs that take small whole numbers and truth values."""

import numpy as np
import safetensors.torch
import torch

from tests.support.conformance import write_pairs

torch.manual_seed(0)


class Small(torch.nn.Module):
    def forward(self, pixels, mask, half):
        return {
            "sum": pixels.sum(1) + mask.to(torch.int64),
            "over": (pixels + 200).to(torch.int32),  # beyond 255 it begins anew
            "more": (half * 1.5).float(),
        }


class Places(torch.nn.Module):
    def forward(self, x):
        return {"best": x.argmax(1), "positive": x.sum(1) > 0, "twice": (x * 2).double()}


rows = torch.export.Dim("rows", min=1, max=100_000)
one = (
    torch.zeros(2, 3, dtype=torch.uint8),
    torch.zeros(2, dtype=torch.bool),
    torch.zeros(2, dtype=torch.float16),
)
exported = torch.export.export(Small(), one, dynamic_shapes=({0: rows}, {0: rows}, {0: rows}))
torch.export.save(exported, "small.pt2")
torch.jit.script(Places()).save("places.pt")
brain, wide = torch.nn.Linear(3, 2).bfloat16(), torch.nn.Linear(3, 2).double()
torch.jit.trace(brain.eval(), torch.zeros(2, 3, dtype=torch.bfloat16)).save("brain.pt")
safetensors.torch.save_file(wide.state_dict(), "wide.safetensors")
torch.jit.trace(wide.eval(), torch.zeros(2, 3, dtype=torch.float64)).save("wide.pt")

x = np.array([[0.1, -2, 3], [1e-9, 1e9, 0], [0, 0, 0], [5, 5, 5], [-1, -2, -3]])
given = {
    "x": x,
    "pixels": [[0, 255, 1], [7, 7, 7], [100, 200, 50], [0, 0, 0], [254, 255, 255]],
    "mask": [True, False, True, False, True],
    "half": [0.5, -2.0, 1e-7, 60.0, 1e3],
}
with torch.inference_mode():
    small = Small()(
        torch.tensor(given["pixels"], dtype=torch.uint8),
        torch.tensor(given["mask"]),
        torch.tensor(given["half"], dtype=torch.float16),
    )
    places = Places()(torch.tensor(x, dtype=torch.float32))
    said = {name: values.numpy() for name, values in {**small, **places}.items()}
    said["brain"] = brain(torch.tensor(x, dtype=torch.bfloat16)).float().numpy()
    said["scripted"] = wide(torch.tensor(x)).numpy()
    said["single"] = wide.float()(torch.tensor(x, dtype=torch.float32)).numpy()
pairs = [
    (
        {name: column[at] for name, column in given.items()},
        {name: column[at] for name, column in said.items()},
    )
    for at in range(len(x))
]
for wrong in ({"pixels": [0, 0, 256]}, {"pixels": [-1, 0, 0]}, {"half": 7e4}):
    pairs.insert(2, (pairs[0][0] | wrong, {"error": "small wrong_value"}))
write_pairs(pairs)
