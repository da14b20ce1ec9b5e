"""A scripted module whose method calls its first argument s."""

import torch


class Double(torch.nn.Module):
    def forward(s, x):
        return x * 2


torch.jit.script(Double()).save("m.pt")
