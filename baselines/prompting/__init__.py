"""Prompting language models: what the programs ``prompt-llm`` and ``rag`` share.

Holds the prompts (``task_prompt``, ``instructions``, ``demonstrations``), the models (``models``: the interface;
``server``: any OpenAI-compatible one; ``local``: transformers on this machine), asking within a budget (``asking``)
with a cache of answers (``cache``), reading the answers (``parsing``), the loop over sources and targets (``run``), and
the options and course of a program (``options``, ``program``).

In: a dataset folder, and the options as typed; the server's key from the environment.
Out: a prediction file and a card, which tells tokens and cost; answers stay in the cache folder.
"""
