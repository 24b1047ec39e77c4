"""The static encoder of the package ``wordllama``: one vector per token, no network, no code of the package executed.

A text's vector is the mean of its tokens' vectors, which the authors trained for sentence similarity on top of a large
model's input embeddings (l2_supercat, 256 dimensions, MIT). Only the weights and the tokenizer of the package are
read: importing it configures logging for the whole process, and its loader (0.4.0) does not find the bundled tokenizer.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shiftbench.validation.command_line import require

STATIC_ENCODER = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_ANY_LENGTH = 1_000_000


def static_folder(encoder: str) -> Path | None:
    """Find the files of the static encoder.

    Returns: the folder of the package; None for other encoders.
    Raises: InvalidInput if the package is not installed.
    """
    if encoder != STATIC_ENCODER:
        return None
    require(STATIC_ENCODER, STATIC_ENCODER)
    spec = find_spec(STATIC_ENCODER)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def static_files(folder: Path) -> list[Path]:
    """Return the files of the static encoder in the folder of ``static_folder``."""
    return [folder / _TOKENIZER, folder / _WEIGHTS]


class StaticEncoder:
    """The mean of token vectors, with the interface of a sentence-transformers model used by ``Encoder``.

    Args:
        folder: the result of ``static_folder``.
    """

    device = "cpu"

    def __init__(self, folder: Path) -> None:
        from safetensors.torch import load_file
        from tokenizers import Tokenizer, processors
        from transformers import PreTrainedTokenizerFast

        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        tokenizer.post_processor = processors.Sequence([])  # the vectors were trained without a start token
        fast = {"tokenizer_object": tokenizer, "unk_token": "<unk>", "pad_token": "<unk>"}
        self.tokenizer: Any = PreTrainedTokenizerFast(**fast)  # type: ignore[no-untyped-call]
        self._table = load_file(folder / _WEIGHTS)["embedding.weight"].float()  # (V, d)

    def get_max_seq_length(self) -> int:
        """Return the maximum length in tokens: practically unlimited."""
        return _ANY_LENGTH

    def __call__(self, features: dict[str, Any]) -> dict[str, Any]:
        """Compute the mean of each text's token vectors."""
        vectors = self._table[features["input_ids"]]  # (B, T, d)
        mask = features["attention_mask"].unsqueeze(-1)  # (B, T, 1)
        mean = (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        return {"token_embeddings": vectors, "sentence_embedding": mean}
