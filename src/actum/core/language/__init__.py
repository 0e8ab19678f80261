"""What people read in their language: sentences, the catalogue, and the words for calls that failed."""
