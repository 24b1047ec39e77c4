"""All entries that may be passed on as one dataset folder (``open_archive``), and back to a store
(``from_archive``).
"""
