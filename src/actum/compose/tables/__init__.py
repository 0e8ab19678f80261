"""Tables of the settings file, each as the struct that reads it."""
