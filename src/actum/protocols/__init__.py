"""Protocols as pure functions of bytes, where no library does it for us. No I/O."""
