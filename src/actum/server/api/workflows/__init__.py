"""`/v1/workflows`: workflows, their versions and their runs."""
