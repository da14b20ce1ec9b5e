"""Questions about texts; one that leaves no room for its text ended the process in the library of tokenizers."""

import torch
import transformers

from tests.support.conformance import write_pairs
from tests.support.transformers_models import MAKERS, Path

MAKERS["answers"](Path("model"))
tokenizer = transformers.AutoTokenizer.from_pretrained("model")
model = transformers.AutoModelForQuestionAnswering.from_pretrained("model")
pairs = [
    ("who wrote it ?", "anna wrote it in paris , and it was good ."),
    ("where ?", "this film is about politics"),
    ("who " * 40, "anna wrote it in paris"),
]
said = []
for question, page in pairs:
    encoded = tokenizer(question, page, return_tensors="pt")
    with torch.no_grad():
        found = model(**encoded)
    places = [0, *(at for at, part in enumerate(encoded.sequence_ids(0)) if part == 1)]
    starts, ends = (one[0][places].double().softmax(0)[1:] for one in (found.start_logits, found.end_logits))
    size = len(starts)
    spans = [(float(starts[a] * ends[b]), a, b) for a in range(size) for b in range(a, min(a + 3, size))]
    score, first, last = max(spans)
    start = encoded.token_to_chars(0, places[first + 1]).start
    end = encoded.token_to_chars(0, places[last + 1]).end
    answer = {"answer": page[start:end], "score": score, "start": start}
    said.append(({"question": question, "page": page}, answer))
for question in ("who " * 100, "who " * 40):
    row = {"question": question, "page": "anna wrote it in paris " * 20}
    said.append((row, {"error": "answer wrong_value"}))
write_pairs(said)
