"""The models of `[models.*]`: passed on to at the door of the model APIs, and asked by nodes and published agents."""
