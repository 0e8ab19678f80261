"""How a model says a call: every dialect by its name. Pure functions and incremental decoders; see `base` for the two kinds."""
