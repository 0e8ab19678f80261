"""What the tools on offer ask for, and which words of a text could be that."""
