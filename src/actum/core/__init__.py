"""The nouns everything meets at: values, errors, schemas and the interfaces between rooms. Imports nothing of actum."""
