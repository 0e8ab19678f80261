"""Other MCP servers, served behind one address."""
