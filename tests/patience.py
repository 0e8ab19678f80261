"""How long a test waits for something that is sure to come, on a machine that has other work too."""

HANGS_S = 240.0
"""What takes longer than this hangs. A few seconds are too few on a busy machine, where a server starts in thirty."""
SOON_S = 20.0
"""What is promised within a second happens within this time, however busy the machine is. What looks once a minute, or
waits until a client asks again, is found out.
"""
