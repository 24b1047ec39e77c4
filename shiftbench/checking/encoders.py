"""Opening sentence encoders by name; models are loaded on first use."""

from shiftbench.builders.encoder import Encoder, machine_encoder


def load_encoder(name: str | None = None) -> Encoder:
    """Open a sentence encoder; without a name, this machine's default.

    Raises: InvalidInput if the extra 'encoder' is not installed, or the weights cannot be read or fetched.
    """
    return Encoder(name)


def check_encoder(
    name: str | None, *, probes: bool | None, has_depth: bool, is_searched: bool = False
) -> Encoder | None:
    """Open the encoder of a check: always for depths; for probes and clusters only if one is named or configured.

    Args:
        name: Hub id or path; None: the encoder configured on this machine.
        probes: False if no probes are trained.
        has_depth: whether depths are computed.
        is_searched: whether the texts are clustered, to search for domains.
    Returns: the encoder; None if the check runs without one.
    Raises: InvalidInput as ``load_encoder``.
    """
    is_named = (probes is not False or is_searched) and (name or machine_encoder())
    return load_encoder(name) if has_depth or is_named else None
