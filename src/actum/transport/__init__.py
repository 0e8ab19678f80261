"""The network and other processes: the only rooms besides `storage` that do I/O."""
