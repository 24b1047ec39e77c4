"""The smallest parts of the shape of scores: a figure with its interval."""

import pydantic


class Record(pydantic.BaseModel):
    """A part of the shape of scores: closed and immutable."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Estimate(Record):
    """A figure and the bounds of its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    no_interval: str | None = pydantic.Field(default=None, description="Why there is no interval where one could be")


class Interval(Record):
    """The bounds of a 95% interval."""

    low: float
    high: float


Total = dict[str, Interval]
"""Total intervals by figure."""
