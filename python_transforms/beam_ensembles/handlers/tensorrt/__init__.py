"""TensorRT: engines, loaded or built from ONNX; ``model`` is what the registry names."""
