"""A model that was saved in training mode, with dropout and batch norm: it is asked as eval() has it."""

import numpy as np
import torch

from tests.support.conformance import write

torch.manual_seed(0)
norm = torch.nn.BatchNorm1d(3)
for _ in range(20):
    norm(torch.randn(8, 3) * 3 + 1)
model = torch.nn.Sequential(norm, torch.nn.Dropout(0.5))
torch.jit.script(model.train()).save("trained.pt")
torch.save(norm.state_dict(), "norm.pt")
x = torch.tensor(np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3))
with torch.inference_mode():
    write({"x": x.numpy()}, trained=model.eval()(x).numpy(), norm=norm.eval()(x).numpy())
