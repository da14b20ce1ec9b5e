"""What an ensemble promised when it was locked, what it does now, and how the two differ."""
