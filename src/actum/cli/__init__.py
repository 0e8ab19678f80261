"""The command line: what a person types and sees. Start with `app`."""
