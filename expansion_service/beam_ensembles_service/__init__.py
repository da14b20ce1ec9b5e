"""The expansion service: what Java and Go pipelines, Beam YAML and Python's providers talk to."""
