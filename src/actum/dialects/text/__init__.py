"""Calls in the text of models: what a model is told, and how its text is read."""
