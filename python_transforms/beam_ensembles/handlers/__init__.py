"""The kinds of node that run a model: one file a framework, and the table of them in ``registry``."""
