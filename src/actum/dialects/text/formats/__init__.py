"""The formats of open models, a row each."""
