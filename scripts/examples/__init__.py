"""What ``make examples`` does: the examples in every language, and whether the languages agree."""
