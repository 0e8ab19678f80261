"""What holds within one process: threads, limits, packages, who drives which run."""
