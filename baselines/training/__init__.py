"""What the fine-tuning programs share, from options to files.

Holds the options and settings (``options``), loading models (``models``), texts as word pieces (``pieces``,
``word_pieces``, ``windows``, ``qa_windows``, ``text_to_text``), batches (``batches``), training on transformers'
Trainer (``trainer``), the choice of settings on validation rows (``tuning``), prediction (``prediction``), the base
class of the trainers of each task kind (``finetuner``), the course of a program (``program``), the files that it writes
(``outputs``), and timings beside transformers' defaults (``bench``).

In: a dataset folder, and options as typed; weights from the Hub or a path.
Out: a prediction file and a card, one more of each for every kept state, and a record of the trainings as JSON.
"""
