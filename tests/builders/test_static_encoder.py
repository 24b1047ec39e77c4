"""The static encoder against plain numpy over its own files; skipped where the package is not installed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.static_encoder import STATIC_ENCODER, static_folder
from shiftbench.validation.report import InvalidInput

TEXTS = ["The jug leaked.", "It did not leak.\nNobody was there", "x", "na\u00efve \u2013 \u6f22\u5b57"]


@pytest.fixture(scope="module")
def folder() -> Path:
    if importlib.util.find_spec(STATIC_ENCODER) is None:
        pytest.skip("the extra 'wordllama' is not installed")
    found = static_folder(STATIC_ENCODER)
    assert found is not None
    return found


def test_vectors_are_unit_means_of_token_vectors(folder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    encoder = Encoder(STATIC_ENCODER, cache=tmp_path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    table = load_file(folder / "weights/l2_supercat_256.safetensors")["embedding.weight"].astype(np.float64)
    tokens = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    means = np.array([table[ids].mean(axis=0) for ids in tokens])
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)
    vectors, offsets = encoder.token_vectors(TEXTS)
    assert np.diff(offsets).tolist() == [len(ids) for ids in tokens]
    np.testing.assert_allclose(vectors, np.concatenate([table[ids] for ids in tokens]), atol=1e-6)
    facts = encoder.facts()
    assert (facts.id, facts.dimensions, len(facts.revision)) == (STATIC_ENCODER, 256, 64)


def test_it_loads_without_the_package_itself(folder: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from shiftbench.builders.encoder import Encoder; "
        f"Encoder('wordllama', cache=Path({str(tmp_path)!r})).encode(['a']); print('wordllama' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "False"


def test_other_names_are_no_static_encoder() -> None:
    assert static_folder("org/wordllama") is None


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == STATIC_ENCODER else found(name))
    with pytest.raises(InvalidInput, match=r"'shiftbench\[wordllama\]'"):
        Encoder(STATIC_ENCODER, cache=tmp_path)
