"""Knowledge: collections of documents, read in a jail, found by words, for those who may read them."""
