"""What the fine-tuning programs share: options, model loading, training on transformers' Trainer, prediction."""
