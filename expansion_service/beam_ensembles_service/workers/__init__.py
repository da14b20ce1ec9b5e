"""Workers on this machine: the pool that starts them, what they get, and what is done when one dies."""
