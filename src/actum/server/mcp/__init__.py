"""MCP served."""
