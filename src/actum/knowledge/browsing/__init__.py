"""The tools of a browser over collections of documents, whose state is the record of the run."""
