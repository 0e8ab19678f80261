"""What is kept beside the runs, as values, and what a place that keeps them has to do."""
