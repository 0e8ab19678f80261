"""A2A, by which agents of different makers work together: its values, and the protocol of April 2025. Pure."""
