"""The compiled modules, loaded as plain Python."""

import importlib.util
import pathlib
import sys

SOURCE = pathlib.Path(__file__).parent.parent / "src" / "bough"


def load(name, path=None, *, keep=False):
    """Load a module by its name from its source, as plain Python."""
    path = path or SOURCE.parent / (name.replace(".", "/") + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    if keep:
        sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
