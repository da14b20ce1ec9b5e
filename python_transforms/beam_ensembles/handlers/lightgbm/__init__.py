"""LightGBM: boosters saved as text; ``model`` is what the registry names."""
