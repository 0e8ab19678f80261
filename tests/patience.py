"""How long a test waits for something that is sure to come, on a machine that has other work too."""

HANGS_S = 240.0
"""What takes longer than this hangs. A few seconds are too few on a busy machine, where a server starts in thirty."""
