"""Calls between marks: the engine that reads and writes the rows of `text.formats`."""
