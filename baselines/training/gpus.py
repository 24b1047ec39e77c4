"""What GPUs can do at most, and what transformers ask of them: for utilisation, and for estimates without a GPU.

Leaves out: prices, which change; the user types them.
"""

from typing import Any

PEAK_FLOPS = {
    "T4": 65e12,
    "V100": 125e12,
    "L4": 121e12,
    "A10": 125e12,
    "A100": 312e12,
    "L40S": 362e12,
    "H100": 989e12,
    "H200": 989e12,
}
"""Dense half-precision tensor operations a second, from NVIDIA's data sheets (bf16; fp16 of T4 and V100; SXM boards,
where there are several). Data sheets that print figures with sparsity print twice these."""

UTILISATION = 0.3
"""The part of a GPU's peak that an estimate assumes: fine-tuning of encoders on short texts reaches 0.2 to 0.4."""


def training_flops(parameters: float, tokens: float) -> float:
    """Return the operations of training: 6 a parameter and token (Kaplan et al. 2020, Table 1: 2 forward, 4 backward).

    Args:
        parameters: trained and frozen ones that a token passes through.
        tokens: read in all epochs.
    """
    return 6 * parameters * tokens


def prediction_flops(parameters: float, tokens: float) -> float:
    """Return the operations of a forward pass: 2 a parameter and token (Kaplan et al. 2020, Table 1)."""
    return 2 * parameters * tokens


def utilisation(parameters: float, tokens_per_second: float, gpu: str) -> float:
    """Return model-FLOPs utilisation in training: the part of a GPU's peak that a model's own operations take.

    Args:
        parameters: of the model.
        tokens_per_second: in training.
        gpu: as for ``peak_flops``.
    Raises: KeyError as ``peak_flops``.

    >>> round(utilisation(100e6, 500_000, "NVIDIA H100 80GB HBM3"), 3)
    0.303
    """
    return training_flops(parameters, tokens_per_second) / peak_flops(gpu)


def describe_utilisation(model: Any, tokens_per_second: float, gpu: str) -> str:
    """Format the model-FLOPs utilisation of a training (Chowdhery et al. 2022, appendix B), for a person to read.

    Counted are the weights that tokens are multiplied by (``matrix_parameters``). The products within attention are
    left out: of texts of T tokens in a model of width d they are T / (6 d) as many, 1% at 30 and 384.

    Args:
        model: a model of PyTorch that was trained whole.
        tokens_per_second: without padding.
        gpu: its full name; the peak of one that is not listed is not known.
    """
    parameters = matrix_parameters(model)
    done = training_flops(parameters, tokens_per_second)
    said = f"{tokens_per_second:,.0f} tokens/s x 6 x {parameters / 1e6:,.1f}M weights = {done / 1e12:,.1f} TFLOPS"
    if not is_listed(gpu):
        return f"{said}; the peak of {gpu} is not listed"
    share = utilisation(parameters, tokens_per_second, gpu)
    return f"{said}: model-FLOPs utilisation {share:.1%} of {peak_flops(gpu) / 1e12:,.0f} TFLOPS ({gpu})"


def matrix_parameters(model: Any) -> int:
    """Count the weights of a model's linear layers: what each token is multiplied by, in place of looked up.

    Of small encoders the table of embeddings is most of all parameters, and costs no operation.
    """
    from torch import nn
    from transformers.pytorch_utils import Conv1D  # GPT-2's linear layers

    return sum(layer.weight.numel() for layer in model.modules() if isinstance(layer, nn.Linear | Conv1D))


def peak_flops(gpu: str) -> float:
    """Return a GPU's dense half-precision operations a second.

    Args:
        gpu: a name with one of ``PEAK_FLOPS`` as a word, as 'NVIDIA H100 80GB HBM3' or 'a100'.
    Raises: KeyError when no such GPU is listed.
    """
    return PEAK_FLOPS[_name(gpu) or gpu]


def is_listed(gpu: str) -> bool:
    """Return whether a GPU's peak is known; argument as for ``peak_flops``."""
    return _name(gpu) is not None


def _name(gpu: str) -> str | None:
    words = gpu.upper().replace("-", " ").split()
    return next((name for name in PEAK_FLOPS if name in words), None)
