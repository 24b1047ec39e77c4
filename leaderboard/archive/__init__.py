"""Write all shareable entries of a store as one dataset folder (``open_archive``), and load it into a store."""
