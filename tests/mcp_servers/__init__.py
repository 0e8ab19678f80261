"""Real MCP servers, as programs that tests start."""
