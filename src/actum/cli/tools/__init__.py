"""Commands about tools: list and add them, agents elsewhere, dialects and policies."""
