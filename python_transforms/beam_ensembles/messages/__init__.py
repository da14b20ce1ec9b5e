"""How messages are worded: lists, suggestions, other libraries' errors, control characters."""
