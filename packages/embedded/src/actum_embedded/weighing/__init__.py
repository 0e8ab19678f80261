"""How well a value fits a parameter, and how well a step fits what was said."""
