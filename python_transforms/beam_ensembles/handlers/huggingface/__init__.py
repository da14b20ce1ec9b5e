"""Hugging Face: models of transformers; ``kind`` is what the registry names, ``tasks`` the table of tasks."""
