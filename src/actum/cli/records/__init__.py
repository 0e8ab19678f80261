"""Commands about what is on record: runs, conversations, approvals, tasks, audit, the journal itself."""
