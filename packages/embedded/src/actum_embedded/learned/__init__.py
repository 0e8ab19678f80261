"""The learned weights, and the small nets that are made of them."""
