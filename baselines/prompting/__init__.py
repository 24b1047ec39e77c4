"""Prompting language models: shared by the programs ``prompt-llm`` and ``rag``.

Prompts (``task_prompt``, ``instructions``, ``demonstrations``), models (``models``: the interface; ``server``: any
OpenAI-compatible server; ``local``: transformers on this machine), requests within a budget (``asking``) with a cache
of responses (``cache``), parsing of responses (``parsing``), options and main loop (``options``, ``program``).
"""
