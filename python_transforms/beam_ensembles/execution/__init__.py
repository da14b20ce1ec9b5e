"""How a stage runs over a batch: its nodes, its cores, its processes, and the rows that fail."""
