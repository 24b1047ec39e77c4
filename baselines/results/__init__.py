"""Reference results, and the programs that print what the READMEs say of them."""
