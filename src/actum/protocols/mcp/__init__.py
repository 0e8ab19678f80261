"""The language of MCP, as far as it is data."""
