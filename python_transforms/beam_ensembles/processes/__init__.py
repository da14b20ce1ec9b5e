"""Processes of this Python on one machine: how they start, talk, share memory and end."""
