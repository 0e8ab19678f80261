"""Doors: what is built here, served to others by their protocols."""
