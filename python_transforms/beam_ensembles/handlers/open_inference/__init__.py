"""Models on a server that speaks the Open Inference Protocol v2 over gRPC: Triton, KServe, MLServer."""
