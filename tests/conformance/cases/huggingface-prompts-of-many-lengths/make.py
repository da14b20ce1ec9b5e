"""Prompts of many lengths go on as each would alone: 'max_length' counts padding, and RWKV reads it."""

import torch
import transformers

from tests.support.conformance import write
from tests.support.transformers_models import WORDS, word_tokenizer

names = {"unk_token": "<unk>", "eos_token": "<end>", "pad_token": "<end>"}
tokenizer = word_tokenizer(names)
tokens = {"bos_token_id": 1, "eos_token_id": 1, "vocab_size": len(tokenizer)}
torch.manual_seed(7)
gpt2 = transformers.GPT2LMHeadModel(
    transformers.GPT2Config(**tokens, n_embd=16, n_layer=2, n_head=2, n_positions=64, initializer_range=0.5)
).eval()
rwkv = transformers.RwkvForCausalLM(
    transformers.RwkvConfig(**tokens, hidden_size=16, attention_hidden_size=16, num_hidden_layers=2)
).eval()
texts = ["the film was good .", "awful", " ".join(WORDS[5:17]), "it was", "who wrote it ? anna in paris"]
ids = [tokenizer(text)["input_ids"] for text in texts]
answers = {}
for name, model, limits in (
    ("gpt2", gpt2, {"max_length": 20}),
    ("rwkv", rwkv, {"max_new_tokens": 4}),
    ("written", gpt2, {"max_new_tokens": 4, "repetition_penalty": 3.0}),
):
    if name != "written":
        model.save_pretrained(name)
        tokenizer.save_pretrained(name)
    found = [model.generate(torch.tensor([one]), do_sample=False, **limits)[0].tolist() for one in ids]
    if name != "written":
        whole = zip(found, ids, strict=True)
        found = [tokenizer.decode(all_of[len(one) :], skip_special_tokens=True) for all_of, one in whole]
    answers[name] = found
write({"text": texts, "ids": ids}, **answers)
