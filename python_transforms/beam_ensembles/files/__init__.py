"""Files that an ensemble names: where they are, whether they may be used, and how they are read safely."""
