"""What a user names on the command line: `file.py:function` or `package.module:function`."""

import importlib
import importlib.util
import pathlib
import sys
from types import ModuleType

import click


def load_module(where: str) -> ModuleType:
    """Import a file, as Python itself would run it, or a module by its name."""
    try:
        if where.endswith(".py"):
            spec = importlib.util.spec_from_file_location(pathlib.Path(where).stem, where)
            if spec is None or spec.loader is None or not pathlib.Path(where).exists():
                raise click.UsageError(f"there is no file {where}.")
            sys.path.insert(0, str(pathlib.Path(where).parent.resolve()))  # as Python itself does
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module  # so that its functions can go to other processes
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, "")
            module = importlib.import_module(where)
    except click.UsageError:
        raise
    except Exception as error:  # whatever the user's module does when it is imported
        raise click.UsageError(f"cannot import {where}: {error!r}") from None
    return module
