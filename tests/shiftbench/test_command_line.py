"""What the commands are called, what their help shows, and how names of the former version are understood."""

import os
import re
import subprocess
from collections import defaultdict
from typing import Any

import pytest
import typer
from syrupy.assertion import SnapshotAssertion
from typer.main import get_command

from shiftbench.cli.command import app
from shiftbench.cli.former import COMMANDS, OPTIONS, current_command, rewrite_arguments
from tests.command_line import COMMAND, run
from tests.listed_options import MOST_OPTIONS, counted_options, listed_commands

LISTED = {each.words: each for each in listed_commands()}
TOP = (
    *("check", "score", "compare", "gate", "forecast", "label", "predict"),
    *("train", "grid", "plan", "demo", "build", "serve", "submit"),
)
GROUPS = ("data", "board", "logs", "study")
OWN_WORDS = {
    "--out", "--data", "--raw", "--seed", "--task", "--target", "--name", "--report", "--picture", "--store", "--to",
    "--id", "--source", "--revision", "--dry-run", "--card", "--trained-on", "--domain", "--predictions",
    "--margin", "--reference",
}  # fmt: skip
"""Options whose words say what the command does with them."""


def help_of(*words: str) -> str:
    environment = os.environ | {"COLUMNS": "80"}
    done = subprocess.run([str(COMMAND), *words, "--help"], capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def test_fourteen_commands_and_four_groups() -> None:
    assert {words.split()[0] for words in LISTED} == {*TOP, *GROUPS}
    text = help_of()
    for name in (*TOP, *GROUPS):
        assert re.search(rf"^  {name} +\S", text, flags=re.M), name


def test_options_are_few() -> None:
    assert sum(counted_options().values()) <= MOST_OPTIONS


@pytest.mark.parametrize("group", [(), *((name,) for name in GROUPS), ("train",), ("build",)])
def test_no_line_of_a_list_is_cut(group: tuple[str, ...]) -> None:
    text = help_of(*group)
    assert max(map(len, text.splitlines())) <= 80
    listed = re.findall(r"^  ([a-z][a-z0-9-]+)  +(\S.*)$", text, flags=re.M)
    assert listed
    for name, about in listed:
        assert not about.endswith("..."), (name, about)
        assert re.search(rf"^  {name}  +.*\n(?:  \S|\n|\Z)", text, flags=re.M), f"{name}: its line is wrapped"


@pytest.mark.parametrize("words", [words for words in LISTED if not words.startswith("train ")])
def test_help_shows_an_example(words: str) -> None:
    help_text = " ".join((LISTED[words].command.help or "").split())
    assert f"Example: shiftbench {words}" in help_text, words


def test_help_names_no_file_that_only_a_clone_has() -> None:
    for words, command, _ in LISTED.values():
        texts = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
        assert not any("docs/" in text for text in texts), words


def test_a_shared_option_is_the_same_everywhere() -> None:
    """Same words, same placeholder: what differs has a name of its own, or says what the command does with it."""
    texts: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for words, _, options in LISTED.values():
        if not words.startswith("train "):
            for name, option in options.items():
                texts[name][option.help, option.metavar].append(words)
    differing = {name: dict(each) for name, each in texts.items() if len(each) > 1 and name not in OWN_WORDS}
    assert differing == {}


def test_every_former_option_has_one_of_today() -> None:
    """A table that names an option no command has would rewrite nothing."""
    known = {name for _, command, _ in LISTED.values() for option in command.params for name in option.opts}
    for former, today in OPTIONS.items():
        assert today.option in known, former


@pytest.mark.parametrize("former", COMMANDS)
def test_a_former_command_runs_with_one_line(former: str) -> None:
    today = current_command(former)
    assert today is not None
    done = run(former, "--help")
    assert (done.returncode, done.stdout) == (0, run(*today, "--help").stdout)
    assert re.findall(r"'(.*?)'", done.stderr) == [" ".join(("shiftbench", *names)) for names in ([former], today)]
    assert done.stderr.count("\n") == 1


KNOWN = {"--columns": True, "--model-arg": True, "--encoder": True, "--strict": False}


@pytest.mark.parametrize(
    ("typed", "today"),
    [
        (["--label-column", "stars", "--id-column=key"], ["--columns", "label=stars,id=key"]),
        (["--text-column", "a", "--text-column", "b"], ["--columns", "text=a,text=b"]),
        (["--text-column", "a,b", "--id-column", "k"], ["--columns", "text=a,b", "--columns", "id=k"]),
        (["--domain-by", "month", "--domain-column", "day"], ["--columns", "month=day"]),
        (["--domain-by", "year"], ["--columns", "year=domain"]),
        (["--kind", "tags"], ["--columns", "tags="]),
        (["--label-column", "gold", "--kind", "texts"], ["--columns", "texts=gold"]),
        (["--trust-pickle", "x"], ["x", "--model-arg", "trust_pickle=yes"]),
        (["--no-depth", "--", "--kind"], ["--encoder", "none", "--", "--kind"]),
        (["--columns", "--kind", "--strict", "x"], ["--columns", "--kind", "--strict", "x"]),
        (["--label-column"], ["--columns"]),
    ],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_former_options_are_rewritten(typed: list[str], today: list[str]) -> None:
    assert rewrite_arguments("build own", typed, KNOWN).arguments == today
    assert rewrite_arguments("build own", typed, KNOWN | dict.fromkeys(OPTIONS, True)).arguments == typed
    assert rewrite_arguments("build own", typed, {"--out": True}).arguments == typed


def test_an_option_of_build_means_nothing_elsewhere() -> None:
    assert rewrite_arguments("score", ["--no-depth"], KNOWN).arguments == ["--no-depth"]


@pytest.mark.parametrize(
    ("typed", "exits"),
    [
        (("check", "m", "--data", "d.csv", "--log-to", "mlflow"), "the output of --json"),
        (("grid", "g.toml", "--price=2"), "multiply the hours"),
        (("grid", "g.toml", "--engine", "ray"), "give each machine a part"),
        (("train", "prompt-llm", "nli", "--batch", "write"), "responses are cached"),
        (("serve", "--price", "2"), "No such option"),
    ],
)
def test_an_option_whose_work_went_says_what_does_it(typed: tuple[str, ...], exits: str) -> None:
    done = run(*typed)
    assert done.returncode == 2
    assert exits in done.stderr


@pytest.mark.parametrize("line", ["nosuch ", "bench ", "score --price 3 --", "verify ", "build --list "])
def test_the_shell_gets_no_words_while_it_completes(line: str) -> None:
    done = complete(f"shiftbench {line}")
    assert (done.returncode, done.stderr) == (0, "")


def complete(line: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "_SHIFTBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)
    }  # fmt: skip
    return subprocess.run([str(COMMAND)], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    "typed", [["--trust-pickle=no"], ["--kind", "text"], ["--domain-by", "fortnight"], ["--no-depth=1"]], ids=" ".join
)
def test_a_former_option_is_refused_as_it_was(typed: list[str]) -> None:
    with pytest.raises(typer.BadParameter, match=typed[0].partition("=")[0]):
        rewrite_arguments("build own", typed, KNOWN)


def test_the_last_of_a_former_option_counts() -> None:
    assert rewrite_arguments("check", ["--kind", "tags", "--kind=labels"], KNOWN).today == ["--columns", "labels="]


def test_the_line_about_a_former_option_is_one_line(wording: SnapshotAssertion) -> None:
    done = run("predict", "m", "--data", "x", "--out", "p.csv", "--instruction", "a\x1b[31mred\nnew")
    assert done.stderr.splitlines()[0] == wording


@pytest.mark.parametrize(
    ("typed", "like"),
    [
        (("scroe",), "'score'"),
        (("pubish",), "'data publish'"),
        (("board", "witdraw"), "'withdraw'"),
        (("compare-logss",), "'logs compare'"),
        (("tfidf",), "'train tfidf-lr'"),
        (("chek",), "'check'?"),
    ],
)
def test_a_typo_gets_a_suggestion(typed: tuple[str, ...], like: str) -> None:
    done = run(*typed)
    assert done.returncode == 2
    assert like in done.stderr.splitlines()[-1]


def test_a_typo_in_an_option_gets_a_suggestion() -> None:
    done = run("score", "p.csv", "--data", "x", "--reprot", "r.html")
    assert done.returncode == 2
    assert "--report" in done.stderr


def test_the_shell_completes_commands_and_options() -> None:
    def completed(line: str) -> list[str]:
        return complete(line).stdout.split()

    assert completed("shiftbench bo") == ["board"]
    assert completed("shiftbench board rel") == ["release-round"]
    assert completed("shiftbench score --marg") == ["--margin"]
    assert "compare-logs" not in completed("shiftbench com")


def test_exit_codes_stand_in_one_table() -> None:
    text = help_of()
    assert re.findall(r"^  (\d+) +\S", text, flags=re.M) == ["0", "1", "2", "3", "130"]


def test_help_has_its_names_whatever_asked_for_it_first() -> None:
    """A group that a context without a parent has listed shows ``-h`` in the program's own help all the same."""
    root: Any = get_command(app)
    group = root.get_command(typer.Context(root), "build")
    assert group.get_help_option(typer.Context(group)).opts == ["--help"]
    assert "-h, --help" in help_of("build")
