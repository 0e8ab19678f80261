"""`/v1/tools`: the tools that a caller may use, and calls of them."""
