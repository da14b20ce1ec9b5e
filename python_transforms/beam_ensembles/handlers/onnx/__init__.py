"""ONNX: graphs run by onnxruntime; ``model`` is what the registry names."""
