"""`barnabas completion`: the script by which a shell completes commands, options, topics and groups."""

import os

import click
from click.shell_completion import (
    BashComplete,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

_INSTALL = {
    "bash": 'eval "$(barnabas completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(barnabas completion zsh)" in ~/.zshrc, after compinit',
    "fish": "barnabas completion fish > ~/.config/fish/completions/barnabas.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(sorted(_INSTALL)))
def completion(shell: str) -> None:
    """Print what SHELL needs to complete these commands.

    The last line of the script names the file to put it in.
    """
    context = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # the three shells are click's own
    script = kind(context.command, {}, "barnabas", "_BARNABAS_COMPLETE")
    # Not kind.source: it starts bash to check its version.
    click.echo(ShellComplete.source(script).strip())
    click.echo(f"# To install: {_INSTALL[shell]}")


class JoinedWords(BashComplete):
    """bash splits `localhost:9092` and `--topic=a` into three words. This joins them as typed."""

    def get_completion_args(self) -> tuple[list[str], str]:
        number = int(os.environ["COMP_CWORD"])
        words = split_arg_string(os.environ["COMP_WORDS"])
        joined = _joined(words[: number + 1])
        if len(words) <= number and (not words or words[-1] not in _BREAKS):
            return joined[1:], ""  # a new word begins
        return joined[1:-1], joined[-1]


_BREAKS = (":", "=")


def _joined(words: list[str]) -> list[str]:
    found: list[str] = []
    goes_on = False
    for word in words:
        is_break = word in _BREAKS
        if found and (goes_on or is_break):
            found[-1] += word
        else:
            found.append(word)
        goes_on = is_break
    return found


def teach_bash() -> None:
    """Applies to this process, which completes one word."""
    add_completion_class(JoinedWords)
