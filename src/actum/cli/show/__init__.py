"""How runs, calls and moments look at a terminal and as a page."""
