"""PyTorch: models however they were saved; ``model`` is what the registry names."""
