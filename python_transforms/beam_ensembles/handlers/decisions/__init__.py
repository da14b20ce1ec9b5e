"""``model: decisions``: typed questions about rows, answered with probabilities."""
