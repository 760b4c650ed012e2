"""What all commands have in common: output, errors, exit codes, `--traceback`, completion.

A command that is added to a `Shell` gets all of it, whatever it is; and prints by `echo`.
"""

import json
import math
import os
import re
import sys
import traceback
from typing import IO, Any

import click

from bough._text import UNPRINTABLE, escaped

#: What a user can have caused, and whose message says enough.
EXPECTED = (ValueError, TypeError, OSError, ImportError, RuntimeError)
INTERRUPTED = 130
EXIT_CODES = """\b
Exit codes:
  0    done
  1    it failed, and the message says why
  2    wrong options or arguments
  130  interrupted by Ctrl-C
"""


#: Bold, red, and the end of them: all that we write ourselves, and harmless from anybody else.
_OURS = r"\x1b\[(?:0|1|31)m"
_SHOWN = re.compile(f"{_OURS}|[{UNPRINTABLE}]")


def safe(text: str) -> str:
    r"""Return what a terminal may be sent: names, reasons and values come from anywhere.

    >>> safe("\x1b[1mbold\x1b[0m,\nnot a \x1b]0;title\x07")
    '\x1b[1mbold\x1b[0m,\nnot a \\x1b]0;title\\x07'
    """
    return _SHOWN.sub(lambda m: m[0] if m[0] in "\n\t" or len(m[0]) > 1 else escaped(m), text)


def echo(text: str = "", *, err: bool = False, nl: bool = True, exact: bool = False) -> None:
    """Print, with escapes for what would command a terminal.

    `exact`: what is sent to a file or to another program is left as it is.
    """
    keep = exact and not _is_terminal(sys.stderr if err else sys.stdout)
    # (What click takes for colours it leaves out, unless it is told to leave them.)
    click.echo(text if keep else safe(text), err=err, nl=nl, color=True if keep else None)


def _is_terminal(stream: IO[str]) -> bool:
    return stream.isatty()


class Finite(click.FloatRange):
    """A number in a range, and a finite one: click takes NaN for a number in any range."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read a number, or say of which option it is none."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Shell(click.Group):
    """A group of commands that end well: an error is one line, unless a traceback is asked for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _equip(self)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with `--traceback`."""
        _equip(cmd)
        super().add_command(cmd, name)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Note whether colours are wanted: on a terminal, if NO_COLOR is not set."""
        try:
            context = super().make_context(*args, **options)
        except click.ClickException as error:
            error.message = safe(error.message)  # type: ignore[misc]
            raise
        if os.environ.get("NO_COLOR"):
            context.color = False
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and turn what it raises into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except click.ClickException as error:
            reason = error.__cause__ or error.__context__
            if ctx.meta.get("bough.traceback") and reason is not None:
                _show_where(reason)
            error.message = safe(error.message)  # type: ignore[misc]
            raise
        except BrokenPipeError:
            raise  # `| head` has seen enough: click ends without a word
        except Exception as error:
            if ctx.meta.get("bough.traceback"):
                _show_where(error)
            raise Failure(error) from error


def _show_where(error: BaseException) -> None:
    echo("".join(traceback.format_exception(error)), err=True, nl=False)


class Failure(click.ClickException):
    """An exception as one line."""

    def __init__(self, error: Exception) -> None:
        named = isinstance(error, EXPECTED) or type(error).__module__.startswith("bough.")
        message = str(error) if named and str(error) else repr(error)
        super().__init__(message + ("" if named else " (--traceback shows where it comes from)"))

    def show(self, file: Any = None) -> None:
        """Print it."""
        text = f"{click.style('Error:', fg='red')} {self.format_message()}"
        click.echo(safe(text), err=True, file=file)


def _equip(command: click.Command) -> None:
    """Add what every command has, and those below it have too."""
    if any(parameter.name == "traceback" for parameter in command.params):
        return
    command.params.append(
        click.Option(
            ["--traceback"],
            is_flag=True,
            expose_value=False,
            callback=_note_traceback,
            help="Show where an error comes from.",
        )
    )
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _equip(below)


def _note_traceback(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta["bough.traceback"] = True


@click.command("completion", short_help="Complete commands by the Tab key.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
@click.pass_context
def completion_command(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print what makes the Tab key complete `bough` commands in a SHELL.

    \b
    bough completion bash >> ~/.bashrc
    bough completion zsh >> ~/.zshrc
    bough completion fish > ~/.config/fish/completions/bough.fish
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click knows these three
    text = kind(ctx.find_root().command, {}, "bough", "_BOUGH_COMPLETE").source()
    echo(json.dumps({"shell": shell, "script": text}) if as_json else text)
