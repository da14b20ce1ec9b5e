"""A folder of sentence-transformers 6: the first token's vector, of length 1, of at most 20 tokens."""

import json

import torch
import transformers

from tests.support.conformance import write_pairs
from tests.support.transformers_models import MAKERS, Path

MAKERS["encoder"](Path("model"))
Path("model/1_Pooling").mkdir()
Path("model/1_Pooling/config.json").write_text('{"embedding_dimension": 16, "pooling_mode": "cls"}')
kinds = {
    "": "base.modules.transformer.Transformer",
    "1_Pooling": "sentence_transformer.modules.pooling.Pooling",
    "2_Normalize": "base.modules.normalize.Normalize",
}
parts = [{"path": path, "type": f"sentence_transformers.{kind}"} for path, kind in kinds.items()]
Path("model/modules.json").write_text(json.dumps(parts))
Path("model/sentence_bert_config.json").write_text('{"max_seq_length": 20, "do_lower_case": false}')
model = transformers.AutoModel.from_pretrained("model")
tokenizer = transformers.AutoTokenizer.from_pretrained("model")
said = []
for text in ("the film was good .", "", "what is this film about ?", "good " * 18):
    with torch.no_grad():
        vector = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0]
    said.append(({"text": text}, {"embedding": torch.nn.functional.normalize(vector, dim=0)}))
write_pairs([*said, ({"text": "good " * 19}, {"error": "vector wrong_value"})])
