"""What a text says: words, numbers, dates, places, spans and clauses, in English and Chinese."""
