"""The kinds of node that say which arm a row takes: one file a kind, and their table in ``registry``."""
