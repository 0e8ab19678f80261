"""Worked examples: each folder runs with no key and no network, and is a test. README.md lists them."""
