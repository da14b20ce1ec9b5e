"""``model: embed``: vectors of texts from a server with OpenAI's interface."""
