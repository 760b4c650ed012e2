"""Draw the figures of the documentation.

    python docs/figures/make.py         # all of them
    python docs/figures/make.py regret  # the figure of the README, from regret.csv

Needs the extra `plot`; all of them need `games`, `report` and `browser` too, and chromium for the
screenshots. `regret.csv` is the table `regrets.csv` of the comparison in `benchmarks/tpe.py`.
"""

import csv
import math
import pathlib
import shutil
import sys
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import bough
from bough import games, plotting
from bough.problems import named

HERE = pathlib.Path(__file__).parent
#: As in the README, with a parameter that matters little.
SPACE = bough.Space(
    rate=bough.Float(1e-5, 1e-1, log=True),
    model=bough.Choice({"forest": bough.Space(trees=bough.Int(10, 500)), "linear": None}),
    shuffle=bough.Choice([True, False]),
)


def loss():
    """Return something to tune: rates near 0.01 are best, forests better than lines."""
    numbers = np.random.default_rng(0)

    def noisy(params):
        off = math.log10(params["rate"]) + 2
        return 0.2 * off**2 + 3 / params.get("trees", 5) + numbers.normal(0.1, 0.02)

    return noisy


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
    tuned = bough.minimize(loss(), SPACE, budget=150, rng=0)
    figure, panels = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
    tuned.plot("relevance", ax=panels[0])
    tuned.plot("slice", ax=panels[1], name="rate")
    save(figure, "space.png", dpi=65)
    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    labeled_search().plot("effects", ax=axes)
    save(figure, "effects.png", dpi=90)
    boards()
    regret()
    gallery()
    screenshots(result, tuned)


def regret():
    """Draw simple regret against evaluations, from the table of a comparison."""
    plt.switch_backend("agg")
    plt.rcParams["svg.hashsalt"] = "bough"  # the same figure has the same bytes
    names = {"gpts": "GPTS (bough)", "uct": "UCT", "benchmarks/tpe.py:TPE": "TPE (Optuna)",
             "random": "random"}  # fmt: skip
    with (HERE / "regret.csv").open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    for (searcher, label), color in zip(
        names.items(), ("#0072B2", "#D55E00", "#009E73", "#777777")
    ):
        mine = [row for row in rows if row["searcher"] == searcher and int(row["evaluations"]) >= 3]
        at, mean, low, high = (
            [float(row[column]) for row in mine]
            for column in ("evaluations", "simple", "simple_low", "simple_high")
        )
        axes.loglog(at, mean, color=color, label=label)
        axes.fill_between(at, low, high, color=color, alpha=0.15, linewidth=0)
        axes.annotate(label, (at[-1], mean[-1]), xytext=(5, 0), textcoords="offset points",
                      va="center", color=color)  # fmt: skip
    axes.set(xlabel="evaluations", ylabel="simple regret", xlim=(3, 1000))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "regret.svg", metadata={"Date": None})
    plt.close(figure)


def gallery():
    """Draw the figures of the gallery by running its page."""
    sys.path.insert(0, str(HERE.parent))
    import executed

    page = HERE.parent / "gallery.md"
    wrong = executed.problems(page.read_text(), page.stem, pictures=HERE)
    assert not wrong, wrong


def boards():
    """Draw what a player knows of moves in Connect Four and Hex, after moves of its own."""
    figure, panels = plt.subplots(
        1, 2, figsize=(12, 4.3), layout="constrained", width_ratios=(1, 1.3)
    )
    for (name, moves), axes in zip((("connect_four", 9), ("hex(board_size=7)", 6)), panels,
                                   strict=True):  # fmt: skip
        position, player = games.open_spiel(name), games.Player(100, rng=3)
        for _ in range(moves):
            position.play(player.choose(position).move)
        plotting.board(games.Player(400, rng=1).choose(position), position, ax=axes)
    save(figure, "boards.png", dpi=80)


def labeled_search():
    """Search sequences of letters, whose effects depend on their position, as in labels.md."""
    tree, noise = bough.Tree(4, 6, labels=list("ACGT")), np.random.default_rng(0)

    def activity(letters):
        found = letters.count("A") - letters.count("C") + 2.0 * (letters[3] == "G")
        return found + 0.1 * noise.normal()

    kernel = bough.kernels.Labeled(
        bough.kernels.Geometric(None, variance=None),
        labels=lambda path: ("ACGT"[path[-1]], len(path)),
    )
    return bough.maximize(activity, tree, budget=60, searcher=bough.GPTS(tree, kernel, rng=0))


def save(figure, name, dpi):
    """Write a figure without a date or a version, so that the same figure has the same bytes."""
    figure.savefig(HERE / name, dpi=dpi, metadata={"Software": None})
    plt.close(figure)


def screenshots(result, tuned):
    """Take pictures of two pages, in light and dark, and at the width of a phone."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        result.report(pathlib.Path(folder) / "path.html")
        tuned.report(pathlib.Path(folder) / "space.html")
        browser = tools.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, page_of, scheme, width in (
            ("report-light", "path", "light", 1000),
            ("report-dark", "path", "dark", 1000),
            ("report-phone", "path", "light", 390),
            ("report-space", "space", "light", 1000),
        ):
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": 2200}
            )
            page = context.new_page()
            page.goto((pathlib.Path(folder) / f"{page_of}.html").as_uri())
            page.wait_for_selector("#tree-chart .slice")
            page.wait_for_timeout(1500)
            end = page.evaluate(
                "document.getElementById('tree-chart').getBoundingClientRect().bottom"
            )
            clip = {"x": 0, "y": 0, "width": width, "height": end + 4}
            page.screenshot(path=HERE / f"{name}.png", clip=clip)
            shrink(HERE / f"{name}.png")
            context.close()
        browser.close()


def shrink(file):
    """Make a picture smaller: a page has few colours."""
    from PIL import Image

    with Image.open(file) as picture:
        few = picture.convert("RGB").quantize(255, dither=Image.Dither.NONE)
        few.save(file, optimize=True)


if __name__ == "__main__":
    regret() if sys.argv[1:] == ["regret"] else main()
