"""Where tools live. A toolset lists its tools and executes a call, and knows nothing of models."""
