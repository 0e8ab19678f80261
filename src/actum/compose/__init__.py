"""Builds objects out of settings: a model, tools, a journal, an agent."""
