"""Shared by the fine-tuning programs, from options to output files.

Options and settings (``options``), loading models (``models``), texts as word pieces (``pieces``, ``word_pieces``,
``qa_windows``, ``text_to_text``), batches (``batches``), training with transformers' Trainer (``trainer``), selecting
settings on validation rows (``tuning``), prediction (``prediction``), the base class of the trainers of each task kind
(``finetuner``), and the main function of a program with its output files (``program``).
"""
