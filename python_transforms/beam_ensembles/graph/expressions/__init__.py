"""Expressions against the columns that they read: their types, and what is wrong with them."""
