"""The JSON Schema of ensemble files, for editors."""
