"""What the model says: answers out of results, questions about what is missing, and the next step."""
