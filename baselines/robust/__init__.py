"""Robustness methods for the fine-tuning programs: BOSS's, Depth F1's, and those that use domains.

The combination is in ``method``. BOSS's five (sec. 4.1): noisy copies (``eda``, ``synonyms``), adversarial embeddings
(``freelb``), losses (``losses``) and a bias model (``bias``). Losses over several domains: ``group_dro``, ``coral``,
``irm``, ``dann``, ``lisa``, on the input of the last layer (``last_layer``). After training: ``dfr``. Depth F1's two: MSCL's classifier and contrastive
loss (``contrastive``), DAICL's layout of labelled examples in context (``in_context``). ``docs/methods/differences.md``
lists the differences from the authors' code.

Input: training rows as polars frames, batches as tensors, and models of transformers. Output: training rows with added
copies, and objectives that ``shiftbench.baselines.training`` minimises. The only file
    read is WordNet.
"""
