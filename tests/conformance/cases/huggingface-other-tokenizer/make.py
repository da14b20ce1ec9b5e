"""The tokenizer of a model that knows more words."""

from tests.support.transformers_models import MAKERS, WORDS, Path, bert_tokenizer

MAKERS["classifier"](Path("model"))
other = bert_tokenizer()
words = {word: at for at, word in enumerate([*WORDS, "horse", "bird"])}
type(other)(vocab=words, model_max_length=64).save_pretrained("model")
