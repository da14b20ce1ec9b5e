"""Sequences: lists of any length with an embedding and an LSTM, attention, a bag of words, convolutions in time."""

import numpy as np
import torch

from tests.support.conformance import write

torch.manual_seed(0)


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(9, 4, padding_idx=0)
        self.lstm = torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(6, 2)

    def forward(self, ids):
        states, (last, _) = self.lstm(self.words(ids))
        return {"tags": self.head(states).argmax(2), "vector": last.transpose(0, 1).flatten(1)}


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)
        self.layer = torch.nn.MultiheadAttention(4, 2, batch_first=True, dropout=0.3)

    def forward(self, steps, mask):
        found, weights = self.layer(self.norm(steps), steps, steps, key_padding_mask=mask)
        return found.masked_fill(mask.unsqueeze(2), 0.0).sum(1), weights


tagger, attention = Tagger().eval(), Attention().eval()
bag = torch.nn.EmbeddingBag(9, 3, mode="mean").eval()
waves = torch.nn.Sequential(
    torch.nn.Conv1d(2, 4, 3, padding=1),
    torch.nn.BatchNorm1d(4),
    torch.nn.ReLU(),
    torch.nn.AdaptiveMaxPool1d(1),
    torch.nn.Flatten(),
).eval()
torch.jit.script(tagger).save("tagger.pt")
torch.jit.trace(attention, (torch.randn(2, 3, 4), torch.zeros(2, 3, dtype=torch.bool))).save("attention.pt")
torch.save(bag.state_dict(), "bag.bin")
n, length = torch.export.Dim("n", min=1), torch.export.Dim("length", min=2, max=1000)
exported = torch.export.export(waves, (torch.randn(3, 2, 5),), dynamic_shapes=({0: n, 2: length},))
torch.export.save(exported, "waves.pt2")

draw = np.random.default_rng(0)
ids = [[1, 2, 3], [4], [5, 6, 7, 8, 1, 2], [4], [0, 3, 0], [8, 8]]
steps = draw.normal(size=(6, 3, 4)).astype(np.float32)
mask = np.array([[at < 3, at == 1, False] for at in range(6)])
wave = draw.normal(size=(6, 2, 8)).astype(np.float32)
with torch.inference_mode():
    tags = [tagger(torch.tensor([one])) for one in ids]
    heads, weights = attention(torch.tensor(steps), torch.tensor(mask))
    write(
        {"ids": ids, "steps": steps.reshape(6, 12), "mask": mask, "wave": wave.reshape(6, 16)},
        tags=[one["tags"][0].numpy() for one in tags],
        vector=[one["vector"][0].numpy() for one in tags],
        bag=[bag(torch.tensor([one]))[0].numpy() for one in ids],
        attended=heads.numpy(),
        weights=weights.numpy().reshape(6, 9),
        wave_out=waves(torch.tensor(wave)).numpy(),
    )
