"""A configuration with fewer layers than were trained: transformers drops the others."""

import json

from tests.support.transformers_models import MAKERS, Path

MAKERS["classifier"](Path("model"))
config = json.loads(Path("model/config.json").read_text())
Path("model/config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
