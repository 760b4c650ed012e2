"""Print the files of the package for Meson: compiled sources, declarations, installed files."""

import sys
from pathlib import Path

ENDINGS = {".css", ".html", ".js", ".py", ".pyi", ".typed"}

package = Path(sys.argv[1])
declarations = sorted(package.rglob("*.pxd"))
compiled = [file.with_suffix(".py") for file in declarations]
files = sorted(
    file for file in package.rglob("*") if file.suffix in ENDINGS or file.name == "py.typed"
)
installed = [file for file in files if file not in compiled]
for group in (compiled, declarations, installed):
    print(*(file.relative_to(package).as_posix() for file in group), sep="\n", end="\n\n")
