"""What is published, made and checked without publishing anything: ``python -m scripts.release``."""
