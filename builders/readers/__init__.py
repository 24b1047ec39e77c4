"""Readers of upstream formats: a file in, frames out, errors that name file and line."""
