"""`/v1/runs`: questions to agents, and what becomes of them."""
