"""Reference results, and the programs that print what pages say of them."""
