"""scikit-learn: estimators and pipelines; ``model`` is what the registry names."""
