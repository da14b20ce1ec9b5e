"""How good an ensemble and its members are on rows whose answer is known: what ``beam-ensembles evaluate`` computes."""
