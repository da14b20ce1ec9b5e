"""The command ``beam-ensembles``: one module a verb, imported when the verb is called."""
