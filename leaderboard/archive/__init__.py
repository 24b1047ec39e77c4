"""All entries that may be passed on as one dataset folder (``open_archive``), and back into a store."""
