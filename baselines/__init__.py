"""Reference models, one program per file; each writes a prediction file and its card."""
