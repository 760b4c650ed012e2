"""`bough completion`: shell scripts that complete commands, options and names of problems."""

import click
from click.shell_completion import get_completion_class

from bough.cli.options import json_option
from bough.cli.shell import print_facts


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_context
def command(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print the script with which SHELL completes `bough` commands on Tab.

    \b
    bough completion bash >> ~/.bashrc
    bough completion zsh >> ~/.zshrc
    bough completion fish > ~/.config/fish/completions/bough.fish
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    kind = get_completion_class(shell)
    assert kind is not None  # click supports these three
    text = kind(ctx.find_root().command, {}, "bough", "_BOUGH_COMPLETE").source()
    print_facts({"shell": shell, "script": text}, text, as_json=as_json)
