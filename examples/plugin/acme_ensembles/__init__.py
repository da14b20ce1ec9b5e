"""Kinds of nodes for beam-ensembles, found by the entry points of this distribution."""
