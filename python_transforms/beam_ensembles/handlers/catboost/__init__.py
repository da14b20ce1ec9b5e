"""CatBoost: models in its own binary format and in JSON; ``model`` is what the registry names."""
