"""The commands of `actum mcp`."""
