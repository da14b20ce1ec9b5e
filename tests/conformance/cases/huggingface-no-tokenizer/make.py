"""Only the model was saved: transformers makes a tokenizer to which every word is unknown."""

from tests.support.transformers_models import MAKERS, Path

MAKERS["classifier"](Path("model"))
Path("model/tokenizer.json").unlink()
