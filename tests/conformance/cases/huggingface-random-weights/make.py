"""The base model was saved with the configuration of the classifier: its last layer would be random numbers."""

import json

import transformers

from tests.support.transformers_models import MAKERS, Path

MAKERS["classifier"](Path("model"))
config = json.loads(Path("model/config.json").read_text())
transformers.BertModel.from_pretrained("model").save_pretrained("model")
Path("model/config.json").write_text(json.dumps(config))
