"""A real Flink cluster on this machine, from package registries alone, with Beam's job server: for tests and trials."""
