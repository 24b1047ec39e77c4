"""Robustness methods as parts that fine-tuning programs put together: BOSS's, Depth F1's, and those of domains.

Holds the combination of methods (``method``) and its parts. BOSS's five (sec. 4.1): noisy copies (``eda``,
``synonyms``), adversarial embeddings (``freelb``), losses (``losses``) and a bias model (``bias``). Losses of several
domains: ``group_dro``, ``coral``, ``irm``, ``dann``, ``lisa``, on what the last layer reads (``last_layer``). Before or
after training (``stages``): ``swad``, ``averages`` (WiSE-FT, soups), ``dfr``, ``temperature``.
Depth F1's two: MSCL's classifier and contrastive loss (``contrastive``), DAICL's layout of labelled examples in context
(``in_context``). ``docs/methods/differences.md`` lists what differs from the authors' code.

In: train rows as polars frames, batches as tensors, and models of transformers.
Out: train rows with copies added, and objectives that ``shiftbench.baselines.training`` minimises. Only WordNet is
    read.
"""
