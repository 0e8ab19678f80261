"""ReAct."""
