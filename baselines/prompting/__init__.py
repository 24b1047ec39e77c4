"""Prompting language models: shared by the programs ``prompt-llm`` and ``rag``.

Modules: prompts (``task_prompt``, ``instructions``, ``demonstrations``), models (``models``: the interface; ``server``:
any OpenAI-compatible server; ``local``: transformers on this machine), requests within a budget (``asking``) with a
cache of responses (``cache``), parsing of responses (``parsing``), and the options and main loop of a program
(``options``, ``program``).

Input: a dataset folder and the command-line options; the server's key from the environment. Output: a prediction file,
and a card with tokens and cost; responses stay in the cache folder.
"""
