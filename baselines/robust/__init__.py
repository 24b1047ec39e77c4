"""Robustness methods for the fine-tuning programs: BOSS's, Depth F1's, and those that use domains.

``method`` combines them. BOSS's five (sec. 4.1): ``eda`` with ``synonyms``, ``freelb``, focal loss and label
smoothing (``softened``, on ``losses``) and a bias model (``bias``). Losses over several domains: ``group_dro``,
``irm`` and, on the input of the ``last_layer``, ``coral``, ``dann``, ``lisa``. After training: ``dfr``. Of Depth F1:
MSCL's loss (``contrastive``) and DAICL's layout of examples in context (``in_context``).
"""
