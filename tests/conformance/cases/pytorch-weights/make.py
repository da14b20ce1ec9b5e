"""Weights of 64 bits for a class of 32, and a model of two arguments."""

import numpy as np
import safetensors.torch
import torch

from tests.support.conformance import write

torch.manual_seed(0)
linear, bilinear = torch.nn.Linear(4, 2).double(), torch.nn.Bilinear(3, 1, 2)
torch.save(linear.state_dict(), "linear.pt")
safetensors.torch.save_file(bilinear.state_dict(), "bilinear.safetensors")
x, y = np.linspace(-1, 1, 21).reshape(7, 3), np.arange(7.0).reshape(-1, 1)
with torch.inference_mode():
    whole = torch.tensor(np.column_stack([x, y]))
    two = bilinear(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
    write({"x": x, "y": y}, linear=linear(whole).numpy(), both=two.numpy())
