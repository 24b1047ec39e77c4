"""Requests to a model: cached responses are reused; new ones are counted and stored at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shiftbench.baselines.prompting.cache import AnswerStore, answer_key
from shiftbench.baselines.prompting.models import LanguageModel, ModelAnswer, Request
from shiftbench.validation.report import InvalidInput, Problem, and_more, plural

if TYPE_CHECKING:
    from tqdm import tqdm

_AGAIN = "answers are cached: run the same command again to continue"


@dataclass(frozen=True)
class Prices:
    """US dollars per million input and output tokens; None if unknown."""

    read: float | None = None
    written: float | None = None

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Compute the cost in US dollars; None if prices or tokens are unknown.

        >>> Prices(2.0, 10.0).cost(500_000, 1_000)
        1.01
        """
        if self.read is None or self.written is None or tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.read + tokens_out * self.written) / 1e6


@dataclass(frozen=True)
class Budget:
    """Limits of this run, not counting cached responses; None: unlimited."""

    requests: int | None = None
    cost: float | None = None


class Asker:
    """A model with its cache, prices and budget.

    Attributes:
        asked: number of requests that the model answered in this run.
        answers: all responses by key, new and cached.
    """

    def __init__(self, model: LanguageModel, store: AnswerStore, prices: Prices, budget: Budget) -> None:
        if budget.cost is not None and (prices.read is None or prices.written is None):
            cure = "set --price-in and --price-out, in US dollars per million tokens"
            raise InvalidInput(Problem("limiting the cost requires prices", "--max-cost", cure=cure))
        self._model, self._store, self._prices, self._budget = model, store, prices, budget
        self._spent, self._tried = 0.0, 0
        self.asked = 0
        self.answers: dict[bytes, ModelAnswer] = {}

    def ask(self, requests: Sequence[Request], bar: "tqdm[Any]") -> list[ModelAnswer]:
        """Return the response to each request, from the cache or the model; identical requests are sent once.

        A response's text is None if every try failed; the next call sends such a request again.

        Raises: InvalidInput if the model fails or the budget is spent; responses received by then are in the cache.
        """
        keys = [answer_key(self._model.identity(request)) for request in requests]
        by_key = dict(zip(keys, requests, strict=True))
        self.answers |= self._store.get([key for key in by_key if key not in self.answers])
        lacking = [key for key in by_key if key not in self.answers or self.answers[key].text is None]
        bar.update(len(keys) - len(lacking))
        allowed = len(lacking) if self._budget.requests is None else max(0, self._budget.requests - self._tried)
        asked = lacking[:allowed]

        def keep(place: int, answer: ModelAnswer) -> None:
            self._tried += 1
            self.answers[asked[place]] = answer
            if answer.text is not None:
                self.asked += 1
                self._store.put(asked[place], answer)
            bar.update()
            self._spend(answer)

        if asked:
            try:
                self._model.answer([by_key[key] for key in asked], keep)
            finally:
                self._store.flush()
        if allowed < len(lacking):
            left = plural(len(lacking) - allowed, "request")
            raise InvalidInput(Problem("request limit reached", "--max-requests", f"at least {left} remaining", _AGAIN))
        return [self.answers[key] for key in keys]

    def _spend(self, answer: ModelAnswer) -> None:
        """Add a response's cost to the amount spent; raise InvalidInput if the cost limit is reached."""
        cost = self._prices.cost(answer.tokens_in, answer.tokens_out)
        self._spent += cost or 0.0
        if self._budget.cost is None:
            return
        if cost is None:
            what, cure = "the server does not report token counts", "omit --max-cost, or use --max-requests"
            raise InvalidInput(Problem(what, "--max-cost", cure=cure))
        if self._spent >= self._budget.cost:
            raise InvalidInput(Problem("cost limit reached", "--max-cost", f"${self._spent:,.4f}", _AGAIN))

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Return the input and output tokens of all responses; None if any count is unknown."""
        pairs = [(answer.tokens_in, answer.tokens_out) for answer in self.answers.values()]
        known = [(read, written) for read, written in pairs if read is not None and written is not None]
        if len(known) < len(pairs):
            return None
        return sum(read for read, _ in known), sum(written for _, written in known)

    @property
    def cost(self) -> float | None:
        """Return the cost of all responses in US dollars, new and cached; None if tokens or prices are unknown."""
        return self._prices.cost(*(self.tokens or (None, None)))

    @property
    def account(self) -> str:
        """Summarise the answered requests, their tokens and their cost."""
        missing = sum(answer.text is None for answer in self.answers.values())
        known = len(self.answers) - self.asked - missing
        line = f"{plural(self.asked, 'request')} answered now, {known:,} from the cache"
        if missing:
            line += f", {missing:,} without an answer"
        if self.tokens is not None:
            line += f"; {self.tokens[0]:,} input tokens, {self.tokens[1]:,} output tokens"
        if self.cost is not None:
            line += f"; ${self.cost:,.4f}, ${self._spent:,.4f} in this run"
        return line


def refuse_unanswered(missing: Sequence[str], n: int, server: str, again: str) -> None:
    """Raise InvalidInput if any of n requests, for the rows ``missing``, is unanswered; ``again``: command to retry."""
    if missing:
        what = f"{len(missing):,} of {plural(n, 'request')} received no answer"
        found = f"{', '.join(missing[:5])}{and_more(max(0, len(missing) - 5))}"
        cure = f"the other answers are cached; retry these with: {again}"
        raise InvalidInput(Problem(what, server, found, cure))
