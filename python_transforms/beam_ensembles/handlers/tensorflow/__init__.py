"""TensorFlow: SavedModels and Keras models; ``model`` is what the registry names."""
