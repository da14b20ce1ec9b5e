"""``model: chat``: language models behind OpenAI's chat completions interface."""
