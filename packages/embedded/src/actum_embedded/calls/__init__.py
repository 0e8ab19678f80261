"""Which calls a question asks for, in which order, with which arguments."""
