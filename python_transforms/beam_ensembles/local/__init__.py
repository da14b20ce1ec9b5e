"""Ensembles on this machine, without a runner: what ``beam-ensembles run`` and ``Ensemble`` score with."""
