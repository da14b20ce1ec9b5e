"""``apply: read``: the bytes at the path or URL of each row."""
