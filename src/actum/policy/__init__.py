"""Who may call what: rules, their file, conditions, and where the values of a call came from. Pure."""
