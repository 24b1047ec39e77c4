"""Zero-shot and few-shot prompting of a large language model, with the protocol of DR or of BOSS; every kind of task.

The model runs on any OpenAI-compatible server or, with ``--local``, on this machine. Demonstrations are sampled from a
source's training rows for each test row (DR), or once for all (BOSS). Prompts and demonstrations are never selected by
their scores. Differences from the papers: the wording (``shiftbench.baselines.prompting.instructions``), the limit of
256 tokens per demonstration, counted in words, and unparsed responses, which count as wrong here but are dropped in
BOSS.

    shiftbench train prompt-llm nli --data build/dr --out llm.parquet --model NAME --base-url http://localhost:8000/v1
"""

from dataclasses import dataclass
from enum import StrEnum

from shiftbench.baselines.program import run_alone, with_options
from shiftbench.baselines.prompting.demonstrations import random_demonstrations
from shiftbench.baselines.prompting.options import PromptingOptions
from shiftbench.baselines.prompting.program import PromptingProgram
from shiftbench.baselines.prompting.task_prompt import PromptProtocol
from shiftbench.validation.command_line import option


class Demonstrations(StrEnum):
    """How demonstrations are chosen."""

    DRAWN = "drawn"
    FIXED = "fixed"


@dataclass(frozen=True)
class FewShotOptions(PromptingOptions):
    """Options of a prompting program, and the layout of the prompts."""

    protocol: PromptProtocol | None = option(None, "Prompt layout. Default: 'boss' for the benchmark boss, else 'dr'.")
    demonstrations: Demonstrations | None = option(
        None, "Demonstrations sampled per test row, or one fixed set. Default: 'fixed' with the protocol 'boss'."
    )


@with_options
def main(options: FewShotOptions) -> None:
    """Prompt a large language model, zero- or few-shot.

    Demonstrations come from each source.

    Example: shiftbench train prompt-llm nli --data build/dr --out llm.parquet --model NAME --shots 4
    """
    program = PromptingProgram.of(options, options.protocol)
    prompt = program.prompt
    shots = prompt.default_shots if options.shots is None else options.shots
    fixed = (
        prompt.protocol is PromptProtocol.BOSS if options.demonstrations is None else options.demonstrations == "fixed"
    )
    how = [f"{shots} shots" if shots else "zero-shot", *(["calibrated"] if options.calibrate else [])]
    program.ask_and_write(
        random_demonstrations(shots, is_fixed=fixed) if shots else None,
        name=f"{options.model_name}, {', '.join(how)} ({prompt.protocol})",
        paradigm="few-shot" if shots else "zero-shot",
        shots=shots,
    )


if __name__ == "__main__":
    run_alone(main)
