"""What waits for a person: questions, answers and the inbox."""
