"""The command ``submit``. Imports other than typer are inside the function."""

import typer

from shiftbench.cli.data_options import AnyTokenOption, CardOption, EntryDataOption, ToOption, ValidationRowsOption
from shiftbench.validation.command_line import JsonOption, LabelsByIndexOption, PredictionsArgument, write_json


def submit(
    predictions: PredictionsArgument,
    to: ToOption,
    card: CardOption = None,
    data: EntryDataOption = None,
    any_token: AnyTokenOption = False,
    labels_by_index: LabelsByIndexOption = False,
    validation: ValidationRowsOption = None,
    json_: JsonOption = None,
) -> None:
    """Submit a prediction file and its card to a leaderboard.

    A leaderboard with sign-in identifies you by your Hugging Face token (HF_TOKEN, or 'hf auth login').

    Example: shiftbench submit preds.parquet --to http://127.0.0.1:7860
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.client import answer_lines, is_url, send
    from shiftbench.validation.cards import find_card, read_card
    from shiftbench.validation.prediction_files import PredictionInput

    over_http = is_url(to)  # decided before the card is read
    folders = [] if over_http else [DatasetFolder.open(place) for place in data or ()]
    given, checked = PredictionInput(predictions, labels_by_index), read_card(card or find_card(predictions))
    sent = send(given, checked, to, folders, any_token=any_token, validation=validation)
    where = f"at {to}" if over_http else f"in store {to}"
    status = f"accepted {where}" if sent["new"] else f"already {where}: the same file and card were submitted before"
    typer.echo(f"entry {sent['entry']}: {status}", err=True)
    for line in answer_lines(sent, to, over_http=over_http):
        typer.echo(line, err=True)
    write_json(sent, json_)
