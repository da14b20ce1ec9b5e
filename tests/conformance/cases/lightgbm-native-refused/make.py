"""The errors before the run of LightGBM's files: wrong columns, arguments, classes and formats."""

import json
from pathlib import Path

import lightgbm as lgb
import numpy as np

x = np.random.default_rng(0).normal(size=(60, 2))
model = lgb.train({"verbose": -1, "num_threads": 1}, lgb.Dataset(x, x[:, 0]), num_boost_round=2)
model.save_model("m.txt")
Path("dumped.json").write_text(json.dumps(model.dump_model()))
text = Path("m.txt").read_text()
Path("cut.txt").write_text(text[: len(text) // 8])
