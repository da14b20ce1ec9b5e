"""Acceptance run of the GPU path on one machine: ``python3 -m scripts.gpu_acceptance``, under 8 minutes on an H100.

Needs this repository, CPython 3.11 to 3.13, torch, transformers, numpy, pyarrow, pandas, scikit-learn, pillow, grpcio
and protobuf; ``make gpu-kit`` packs what such a machine may lack besides.
"""
