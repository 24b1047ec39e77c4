"""Adversarial test texts made against a victim, for people to look through: a split of AdvCivil's kind."""
