"""OpenAI Chat Completions, and its older `functions`."""
