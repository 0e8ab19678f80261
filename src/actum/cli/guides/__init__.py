"""The documentation, offline: `actum docs`."""
