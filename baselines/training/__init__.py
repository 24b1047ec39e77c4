"""Shared by the fine-tuning programs, from options to output files.

Modules: options and settings (``options``), loading models (``models``), texts as word pieces (``pieces``,
``word_pieces``, ``windows``, ``qa_windows``, ``text_to_text``), batches (``batches``), training with transformers'
Trainer (``trainer``), selecting settings on validation rows (``tuning``), prediction (``prediction``), the base class
of the trainers of each task kind (``finetuner``), and the main function of a program with its output files
(``program``).

Input: a dataset folder, and command-line options; weights from the Hub or a path. Output: a prediction file and a card,
further ones for each saved state, and a record of the trainings as JSON.
"""
