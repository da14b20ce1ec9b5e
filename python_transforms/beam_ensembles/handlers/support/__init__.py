"""What the model kinds share: how a model is loaded, called and tried, whatever its framework is."""
