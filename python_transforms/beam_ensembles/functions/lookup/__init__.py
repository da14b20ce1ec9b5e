"""``apply: lookup``: columns of a database's table, by key."""
