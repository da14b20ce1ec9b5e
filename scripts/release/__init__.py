"""The release, made and checked without publishing anything: ``python -m scripts.release``."""
