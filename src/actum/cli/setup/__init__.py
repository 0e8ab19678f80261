"""Commands about what is set up here: settings, secrets, features, and what is missing."""
