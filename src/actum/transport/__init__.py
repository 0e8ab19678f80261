"""The network and other processes. The only room, beside `storage`, that does I/O on its own."""
