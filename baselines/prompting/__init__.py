"""Prompting language models: what is said to them, how they are reached, and what their answers are taken to mean."""
