"""Reads files of all kinds as pages. This folder runs in a jail of its own, and imports nothing else of actum."""
