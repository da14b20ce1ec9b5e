"""Who may call a server, and how its connections are kept."""
