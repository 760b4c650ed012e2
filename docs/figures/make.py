"""Make the figures of the documentation: `python docs/figures/make.py`.

Needs the extras `plot`, `report` and `browser`, and chromium for the screenshots.
"""

import pathlib
import shutil
import tempfile

import matplotlib.pyplot as plt

import bough
from bough.problems import named

HERE = pathlib.Path(__file__).parent


def main():
    """Search a tree of 5^10 paths, and draw what there is to see."""
    plt.switch_backend("agg")
    problem = named("smooth", seed=0)
    result = bough.maximize(problem, problem.tree, budget=3000, rng=0)
    for kind in ("convergence", "tree", "increments"):
        figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
        result.plot(kind, ax=axes)
        save(figure, f"{kind}.png", dpi=90)
    figure, panels = plt.subplots(3, 2, figsize=(12, 11), layout="constrained")
    for kind, axes in zip(
        ("convergence", "tree", "along", "increments", "importance"), panels.flat, strict=False
    ):
        result.plot(kind, ax=axes)
    truth = {"optimum": problem.optimum, "value": problem.value}
    result.plot("regret", ax=panels[2, 1], **truth)
    save(figure, "six.png", dpi=65)
    screenshots(result)


def save(figure, name, dpi):
    """Write a figure without a date or a version, so that the same figure has the same bytes."""
    figure.savefig(HERE / name, dpi=dpi, metadata={"Software": None})
    plt.close(figure)


def screenshots(result):
    """Take pictures of the page, in light and dark, and at the width of a phone."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        page_file = pathlib.Path(folder) / "page.html"
        result.report(page_file)
        browser = tools.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, scheme, width, height in (
            ("report-light", "light", 1000, 1480),
            ("report-dark", "dark", 1000, 1480),
            ("report-phone", "light", 390, 1800),
        ):
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": height}
            )
            page = context.new_page()
            page.goto(page_file.as_uri())
            page.wait_for_selector("#tree-chart .slice")
            page.wait_for_timeout(1500)
            page.screenshot(path=HERE / f"{name}.png")
            shrink(HERE / f"{name}.png")
            context.close()
        browser.close()


def shrink(file):
    """Make a picture smaller: a page has few colours."""
    from PIL import Image

    with Image.open(file) as picture:
        picture.convert("RGB").quantize(128).save(file, optimize=True)


if __name__ == "__main__":
    main()
