"""Models whose answers padding changes: in front of BERT's words, among FNet's, behind XLNet's last one."""

import torch
import transformers

from tests.support.conformance import write
from tests.support.transformers_models import MAKERS, WORDS, Path, bert_classifier, bert_tokenizer

texts = ["the film was good .", "awful", "what is this film about ? anna lives in paris", "it was bad"]
questions = ["who lives in paris ?", "where ?", "what is it ?", "who ?"]
tiny = {"vocab_size": len(WORDS), "hidden_size": 16, "initializer_range": 0.5, "pad_token_id": 0}
layers = {"num_hidden_layers": 2, "intermediate_size": 32, "num_labels": 3}

bert = bert_classifier(Path("bert"), num_labels=3)
MAKERS["encoder"](Path("encoder"))
MAKERS["answers"](Path("answers"))
torch.manual_seed(7)
fnet = transformers.FNetForSequenceClassification(transformers.FNetConfig(**tiny, **layers)).eval()
fnet.save_pretrained("fnet")
xlnet = transformers.XLNetConfig(
    vocab_size=len(WORDS),
    d_model=16,
    n_layer=2,
    n_head=2,
    d_inner=32,
    num_labels=3,
    initializer_range=0.5,
    pad_token_id=0,
)
xlnet = transformers.XLNetForSequenceClassification(xlnet).eval()
xlnet.save_pretrained("xlnet")
for folder in ("bert", "fnet", "encoder", "answers"):
    bert_tokenizer(padding_side="right" if folder == "fnet" else "left").save_pretrained(folder)

tokenizer = bert_tokenizer()
encoder = transformers.AutoModel.from_pretrained("encoder")
answers = transformers.AutoModelForQuestionAnswering.from_pretrained("answers")
found = {name: [] for name in ("bert", "fnet", "vector", "listed", "xlnet")}
for text in texts:
    encoded = tokenizer(text, return_tensors="pt")
    ids = {"input_ids": encoded["input_ids"]}
    with torch.no_grad():
        found["bert"].append(bert(**encoded).logits[0].softmax(0))
        found["fnet"].append(fnet(**ids).logits[0].softmax(0))
        found["vector"].append(encoder(**encoded).last_hidden_state[0].mean(0))
        found["listed"].append(bert(**ids).logits[0].softmax(0))
        found["xlnet"].append(xlnet(**ids).logits[0])
starts = []
for question, text in zip(questions, texts, strict=True):
    encoded = tokenizer(question, text, return_tensors="pt")
    with torch.no_grad():
        answer = answers(**encoded)
    is_text = encoded["token_type_ids"][0].bool() & (encoded["input_ids"][0] != tokenizer.sep_token_id)
    seen = is_text.clone()
    seen[0] = True
    first, last = (
        one[0].double().masked_fill(~seen, -torch.inf).softmax(0) * is_text
        for one in (answer.start_logits, answer.end_logits)
    )
    starts.append(float(torch.outer(first, last).triu().tril(14).max()))
rows = {"text": texts, "question": questions, "ids": [tokenizer(text)["input_ids"] for text in texts]}
write(rows, **found, score=starts)
