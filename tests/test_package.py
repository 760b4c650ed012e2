"""What is installed is what is in `src/`, and imports quickly."""

import pathlib
import subprocess
import sys
from importlib import resources

import bough

SOURCE = pathlib.Path(__file__).parent.parent / "src" / "bough"


def files(folder):
    found = {str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if p.is_file()}
    return {name for name in found if "__pycache__" not in name}


def test_everything_in_the_source_is_installed():
    built_from = {"_core.py", "_core.pxd", "meson.build"}
    source = {name for name in files(SOURCE) if pathlib.Path(name).name not in built_from}
    installed = files(str(resources.files("bough")))
    compiled = {name for name in installed if name.startswith("_core.") and name[-3:] in ".so.pyd"}
    assert len(compiled) == 1
    assert installed - compiled == source


def test_nothing_heavy_is_imported():
    code = "import sys, bough; print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "bough" in modules
    assert not {"scipy", "click", "tqdm", "matplotlib", "cython", "Cython"} & set(modules)


def test_public_names_exist():
    assert bough.__all__ == sorted(bough.__all__)
    for name in bough.__all__:
        assert getattr(bough, name) is not None
