"""The kinds of node that run a model: one folder a framework, and the table of them in ``registry``."""
