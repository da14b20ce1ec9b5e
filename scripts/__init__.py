"""What make calls: setting a machine up, the demo, the tests that need servers. Standard library only."""
