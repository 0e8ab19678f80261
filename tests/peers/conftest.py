"""Programs of their own: some import what is not there for pytest, and all of them want arguments."""

collect_ignore_glob = ["clients/*", "servers/*"]
