"""Robustness methods as parts that fine-tuning programs put together: BOSS's five (sec. 4.1), and Depth F1's two.

Holds the combination of BOSS's methods (``method``) and its parts: noisy copies (``eda``, ``synonyms``), adversarial
embeddings (``freelb``), losses (``losses``) and a bias model (``bias``); MSCL's classifier and contrastive loss
(``contrastive``); DAICL's layout of labelled examples in context (``in_context``).

In: train rows as polars frames, batches as tensors, and models of transformers.
Out: train rows with copies added, and objectives that ``baselines.training`` minimises. Only WordNet is read.
"""
