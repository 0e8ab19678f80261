"""What the journal holds of a run: records, the chain over them, summaries, tasks."""
