"""Fetching upstream files: over HTTP and from the Hugging Face Hub, out of archives, each at its place under RAW."""
