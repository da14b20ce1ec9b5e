"""Vertex AI: endpoints called through Beam; ``kind`` is what the registry names."""
