"""GPT-2 classifies by the last word: which that is depends on the padding, whose id model and tokenizer disagree on."""

import torch
import transformers

from tests.support.conformance import write
from tests.support.transformers_models import MAKERS, Path

MAKERS["gpt2"](Path("model"))
tokenizer = transformers.AutoTokenizer.from_pretrained("model")
torch.manual_seed(3)
names = {0: "bad", 1: "good"}
config = transformers.GPT2Config.from_pretrained("model", id2label=names, num_labels=2, pad_token_id=1)
model = transformers.GPT2ForSequenceClassification(config).eval()
texts = ["the film was good .", "awful", "what is this film about ? anna lives in paris", "it was bad"]
with torch.no_grad():
    odds = [model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(0) for text in texts]
write({"text": texts}, label=[names[int(one.argmax())] for one in odds], probabilities=odds)
model.save_pretrained("model")
tokenizer.pad_token = "[PAD]"
tokenizer.save_pretrained("model")
