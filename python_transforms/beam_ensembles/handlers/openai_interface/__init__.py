"""What the kinds of models behind the interface of OpenAI share."""
