"""Fetch upstream files over HTTP and from the Hugging Face Hub, unpacked from archives, to their paths under RAW."""
