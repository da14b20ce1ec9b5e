"""The kinds of node that make one answer of many: one file a family, and their table in ``registry``."""
