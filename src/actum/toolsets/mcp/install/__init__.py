"""Local MCP servers that `npx`, `uvx` or `pipx run` would install: installed first, and started without a network."""
