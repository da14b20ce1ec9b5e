"""Requests to the service: their limits, what they may say, and how they are answered."""
