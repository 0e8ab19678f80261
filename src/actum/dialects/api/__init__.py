"""The wire formats of model APIs: requests, answers and streams, both ways."""
