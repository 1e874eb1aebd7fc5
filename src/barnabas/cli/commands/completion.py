"""`barnabas completion`: the script by which a shell completes commands, options, topics and groups."""

import click

_INSTALL = {
    "bash": 'eval "$(barnabas completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(barnabas completion zsh)" in ~/.zshrc, after compinit',
    "fish": "barnabas completion fish > ~/.config/fish/completions/barnabas.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(sorted(_INSTALL)))
def completion(shell: str) -> None:
    """Print what SHELL needs to complete these commands.

    The script's last line says where to put it.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    context = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # the three shells are click's own
    script = kind(context.command, {}, "barnabas", "_BARNABAS_COMPLETE")
    # Not kind.source: for bash it starts one to see how old it is.
    click.echo(ShellComplete.source(script).strip())
    click.echo(f"# To install: {_INSTALL[shell]}")
