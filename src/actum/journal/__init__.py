"""The state of a run, folded from its records, and the views of a journal: audit, timeline, export, conversations."""
