"""JSON Schema: made out of signatures, checked, coerced, and the kinds of text."""
