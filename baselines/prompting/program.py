"""Main function of the prompting programs: validate options, send requests, write predictions and card."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shiftbench.baselines.program import check_out_path, make_card, typed_command, write_outputs
from shiftbench.baselines.prompting.asking import Asker, Budget, Prices, refuse_unanswered
from shiftbench.baselines.prompting.cache import AnswerStore
from shiftbench.baselines.prompting.demonstrations import ChooseDemonstrations
from shiftbench.baselines.prompting.local import LocalModel
from shiftbench.baselines.prompting.options import PromptingOptions
from shiftbench.baselines.prompting.run import choose_subset, log_account, prompt_and_predict, with_confidences
from shiftbench.baselines.prompting.server import ModelServer
from shiftbench.baselines.prompting.task_prompt import PromptProtocol, TaskPrompt
from shiftbench.builders.cache import check_cache
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput, Problem, counted


@dataclass(frozen=True)
class PromptingProgram:
    """The validated options of a prompting program, with the data and model opened.

    Attributes:
        prompts: format rows as prompts; several wordings with ``--draws``.
        model: the model, not loaded or called yet.
    """

    options: PromptingOptions
    folder: DatasetFolder
    prompts: tuple[TaskPrompt, ...]
    model: ModelServer | LocalModel
    subset: str

    @classmethod
    def of(cls, options: PromptingOptions, protocol: PromptProtocol | None) -> "PromptingProgram":
        """Build a program from its options; the default protocol is that of the dataset's benchmark.

        Raises: InvalidInput if the output, cache, data, task or model is invalid.
        """
        check_out_path(options.out)
        check_cache()
        folder = DatasetFolder.open(options.data)
        prompt = TaskPrompt.of(folder, options.task, protocol, options.instruction, options.max_tokens)
        options.check_kind(prompt.kind)
        model = options.open_model()
        subset = choose_subset(folder, options.task, options.subset)
        # A user instruction has no paraphrases.
        is_reworded = options.draws is not None and options.instruction is None
        others = prompt.paraphrases(folder, options.task) if is_reworded else ()
        return cls(options, folder, (prompt, *others), model, subset)

    def check_draws(self) -> None:
        """Raise InvalidInput if there are more draws than wordings, and demonstrations are not sampled."""
        draws, known = self.options.draws or 1, len(self.prompts)
        if draws > known:
            what, found = "no demonstrations are drawn, so draws differ in the task's words alone", f"{draws} draws"
            cure = f"ask for {counted(known, 'draw')}" if known > 1 else "leave --draws out: there is one wording"
            raise InvalidInput(Problem(what, "--draws", found, cure))

    def ask_and_write(
        self, choose: ChooseDemonstrations | None, *, libraries: Sequence[str] = (), **facts: Any
    ) -> None:
        """Predict all test rows, log requests, tokens and cost, and write prediction file and card.

        Args:
            choose: selects demonstrations; None for zero-shot.
        Raises: InvalidInput if the model fails, its budget is spent, or requests remain unanswered; the message names
            these requests and the command that repeats them. Responses received so far are saved.
        """
        options = self.options
        with AnswerStore() as store:
            prices, budget = Prices(options.price_in, options.price_out), Budget(options.max_requests, options.max_cost)
            asker = Asker(self.model, store, prices, budget)
            asked = prompt_and_predict(
                asker,
                self.prompts,
                choose,
                self.folder,
                options.task,
                sources=options.source,
                targets=options.target,
                seeds=options.seeds,
                subset=self.subset,
                scores_labels=options.score_labels,
                calibrates=options.calibrate,
            )
        log_account(asker, asked)
        missing = asked.filter(pl.col("ending").is_null())["id"].to_list()
        refuse_unanswered(missing, len(asked), options.model_name, typed_command())
        predictions = asked.drop("ending")
        if options.score_labels:
            rows = self.folder.test(options.task, self.subset)
            gold = {} if rows["label"].has_nulls() else dict(zip(rows["id"], rows["label"], strict=True))
            predictions = with_confidences(predictions, gold, probabilities=options.probabilities)
        card = make_card(
            self.folder,
            libraries=[*libraries, *(["torch", "transformers"] if options.local else ["openai"])],
            base_model=options.model_name,
            parameters=self.model.parameters if isinstance(self.model, LocalModel) else None,
            tokens=sum(asker.tokens) if asker.tokens else None,
            cost_usd=asker.cost,
            subset=self.subset,
            **facts,
        )
        write_outputs(predictions, card, options.out)
