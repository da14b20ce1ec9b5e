"""Numbers of an ensemble file chosen from labelled rows: what ``beam-ensembles tune`` computes."""
