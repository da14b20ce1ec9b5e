"""Which ``inference_args`` a task takes: names are checked before anything runs; none can fetch or run code."""

from __future__ import annotations

from typing import Final

BATCH_SIZE: Final = "batch_size"
"""How many rows go through the model at once; transformers' pipelines know the same argument."""

GENERATION: Final = (
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id", "diversity_penalty",
    "do_sample", "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id", "epsilon_cutoff", "eta_cutoff",
    "forced_bos_token_id", "forced_eos_token_id", "length_penalty", "max_length", "max_new_tokens", "max_time",
    "min_length", "min_new_tokens", "min_p", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "pad_token_id", "renormalize_logits", "repetition_penalty", "suppress_tokens",
    "temperature", "top_k", "top_p", "typical_p", "use_cache",
)  # fmt: skip
"""Arguments of ``generate`` that are numbers, truth values or lists of numbers.

Left out are those that load a file, a model or code of the hub (``custom_generate``, ``assistant_model``, ...).
"""

TOKENIZING: Final = ("max_length", "padding", "truncation")
"""Arguments of a tokenizer's call."""
