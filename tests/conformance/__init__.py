"""The protocol's own conformance suite, run on what is served and spoken here."""
