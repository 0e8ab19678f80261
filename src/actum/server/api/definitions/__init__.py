"""What can be asked of definitions of every kind: drafts, checks, publications and what differs between two."""
