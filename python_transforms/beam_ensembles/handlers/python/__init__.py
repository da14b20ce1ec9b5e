"""Any importable model handler; ``handler`` is what the registry names."""
