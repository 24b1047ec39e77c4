"""Robustness methods for the fine-tuning programs: BOSS's, Depth F1's, and those that use domains.

Their combination is in ``method``. BOSS's five (sec. 4.1): ``eda`` with ``synonyms``, ``freelb``, focal loss and label
smoothing (``softened``, on ``losses``) and a bias model (``bias``). Losses over several domains: ``group_dro``,
``coral``, ``irm``, ``dann``, ``lisa``, on the input of the ``last_layer``. After training: ``dfr``. Depth F1's two:
MSCL's loss (``contrastive``) and DAICL's layout of examples in context (``in_context``).
"""
