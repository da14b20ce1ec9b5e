"""Files of rows: CSV, JSON lines and Parquet, read and written in chunks."""
