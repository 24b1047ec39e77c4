"""How much of a text is read: never more than a model has positions for, whatever a batch is padded to."""

import pytest
from transformers import BertConfig, DebertaV2Config, PretrainedConfig, RobertaConfig, T5Config

from shiftbench.baselines.training.options import Adapter, TrainingOptions
from shiftbench.baselines.training.pieces import usable_token_length


@pytest.mark.parametrize(
    ("config", "options", "longest"),
    [
        (BertConfig(max_position_embeddings=512), {}, 512),
        (RobertaConfig(max_position_embeddings=514, pad_token_id=1), {}, 512),
        (BertConfig(max_position_embeddings=512), {"adapter": Adapter.PROMPT, "adapter_size": 10}, 496),
        (DebertaV2Config(max_position_embeddings=512, position_biased_input=False), {}, 768),
        (T5Config(), {}, 768),
    ],
)
def test_a_model_s_positions_end_what_is_read(config: PretrainedConfig, options: dict, longest: int) -> None:  # type: ignore[type-arg]
    assert usable_token_length(config, TrainingOptions(**options), 768) == longest
    assert usable_token_length(config, TrainingOptions(**options), 100) == 100
