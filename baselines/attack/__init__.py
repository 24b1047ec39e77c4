"""Adversarial test texts made against a victim model, for people to look through: a split of AdvCivil's kind.

Holds the changes to a text (``perturb``), the greedy search for those that make a victim err (``search``), the victims
(``victims``), an attack on a whole split (``campaign``), the review table (``review``) and the two commands
(``commands``).

In: a domain of a classification task from a dataset folder: its test split is attacked, its train split trains victims.
Out: ``study attack make`` writes a CSV of changed texts for people to judge; ``study attack collect`` reads it back
and writes the texts that they kept in the form of the authors' file, which ``shiftbench build boss`` reads.
"""
