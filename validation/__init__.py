"""Vocabulary, schemas and error reports: what every other room agrees on. Imports nothing of ours."""
