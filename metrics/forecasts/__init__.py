"""Forecasts of a model's accuracy on a domain without labels: arrays in, one number out.

No method here sees a change of what labels mean: where the same text would get another label in the target
(concept shift), probabilities, disagreement, embeddings and class shares can all stay as they were. Each method rests
on an assumption of its own, which its docstring names; without labels of the target none of them can be checked.

Methods raise ``NoForecastError`` with the reason where they have no meaning.
"""
