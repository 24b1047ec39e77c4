"""No message shows the password of an address."""

import pytest

from shiftbench.validation.credentials import without_credentials
from shiftbench.validation.report import InvalidInput, Problem

SECRET = "s3cret"


@pytest.mark.parametrize(
    "address",
    [
        f"https://ada:{SECRET}@example.org/a@b",
        f"http://ada:{SECRET}@127.0.0.1:5000",
        f"HTTP://{SECRET}@example.org",
        f"postgresql+psycopg2://ada:{SECRET}@db/mlflow",
        f"https://ada:p@{SECRET}@example.org",
    ],
)
def test_a_password_is_left_out_wherever_an_address_stands(address: str) -> None:
    assert SECRET not in without_credentials(f"no answer from '{address}', nor from {address}?x=1")
    host = address.rsplit("@", 1)[1] if not address.endswith("a@b") else "example.org"
    assert host in without_credentials(address)
    problem = Problem("it does not answer", address, f"Client error for url '{address}'", f"start {address}")
    assert SECRET not in str(problem) + str(InvalidInput(problem))
