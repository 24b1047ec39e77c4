"""Opening of sentence encoders by name; their models are loaded when they are first used."""

from shiftbench.builders.encoder import Encoder, machine_encoder


def load_encoder(name: str | None = None) -> Encoder:
    """Open a sentence encoder, the machine's without a name.

    Raises: InvalidInput when the extra 'encoder' is not installed, or the weights cannot be read or fetched.
    """
    return Encoder(name)


def check_encoder(
    name: str | None, *, probes: bool | None, has_depth: bool, is_searched: bool = False
) -> Encoder | None:
    """Open what a check embeds texts with: for depths always, for probes and clusters where one is named or set."""
    is_named = (probes is not False or is_searched) and (name or machine_encoder())
    return load_encoder(name) if has_depth or is_named else None
