"""Tools that are declared, and not written as code: one declaration in JSON, YAML or TOML.

`declaration` reads and checks it, `places` makes a tool of it where it runs.
"""
