"""Container images: the engine that builds and runs them, stand-ins for public bases, the project's own images."""
