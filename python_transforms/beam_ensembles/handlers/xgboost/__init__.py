"""XGBoost: boosters and its scikit-learn classes; ``model`` is what the registry names."""
