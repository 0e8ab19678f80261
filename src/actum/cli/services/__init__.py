"""Commands that serve others, and who may come in: servers, workers, triggers, keys."""
