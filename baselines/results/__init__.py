"""Reference results, and the programs that print the pages about them."""
