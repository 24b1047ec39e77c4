"""BOSS's robustness methods (sec. 4.1), as parts that any fine-tuning program can put together."""
