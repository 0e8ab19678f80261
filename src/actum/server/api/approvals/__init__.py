"""`/v1/approvals`: what waits for a person, and the answers."""
