"""Repairs of Beam, one module each, which says for which version it is."""
