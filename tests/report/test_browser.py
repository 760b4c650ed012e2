"""The page in a real browser: Playwright with the system's chromium."""

import json
import math
import random
import shutil
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from worlds import Corridor

import bough
from bough import planning
from bough.plotting.view import SearchView
from bough.report import write
from bough.report.watch import Watch
from bough.studies.trials import Trial

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("plotly")

HOSTILE = '<img src=x onerror="window.hacked = 1"></script><script>window.hacked = 1</script>'


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "these tests need chromium: apt-get install chromium"
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


class Look:
    """An open page, with its errors and requests."""

    def __init__(self, browser, url, width=1000, scheme="light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",  # no smooth scrolling: elements stay under the mouse
        )
        self.context.set_default_timeout(300_000)  # a busy machine draws slowly
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def _console(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def value(self, selector):
        """Return the number of an element, with all digits."""
        return float(self.page.locator(f"{selector} [data-value]").get_attribute("data-value"))

    def show(self, section):
        """Scroll to a section, and wait until it is drawn."""
        self.page.evaluate(f"document.getElementById('{section}').scrollIntoView()")
        self.page.wait_for_selector(f"#{section}[data-drawn]")

    def wait_for_trials(self, count):
        """Wait until the summary has a number of completed trials."""
        self.page.wait_for_function(
            f"document.querySelector('#completed [data-value]')?.dataset.value === '{count}'"
        )

    def rows(self, table):
        return self.page.locator(f"{table} tbody tr").all_inner_texts()


@contextmanager
def served(file):
    """Serve the page of a study."""
    with Watch(file) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def look(browser, tmp_path):
    opened = []

    def open_page(source, **options):
        if not isinstance(source, str):
            write(source, tmp_path / "page.html")
            source = (tmp_path / "page.html").as_uri()
        opened.append(Look(browser, source, **options))
        return opened[-1]

    yield open_page
    for page in opened:
        page.context.close()


@pytest.fixture(scope="module")
def result():
    def reward(path):
        if path[:2] == (4, 4):
            raise ArithmeticError("too good")
        return sum(0.7**i * step for i, step in enumerate(path)) + 0.1 * math.sin(7 * sum(path))

    tree = bough.Tree(branching=5, depth=6)
    return bough.maximize(reward, tree, budget=300, rng=0, catch=ArithmeticError)


@pytest.fixture(scope="module")
def opened(browser, result, tmp_path_factory):
    """Return the page of the result, which several tests share."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    write(result, file)
    page = Look(browser, file.as_uri())
    yield page
    page.context.close()


SECTIONS = ("summary", "convergence", "tree", "trials", "parameters", "model", "reproduce")


def test_it_loads_from_a_file_without_errors_or_requests(opened):
    page = opened
    for section in SECTIONS:
        page.show(section)
    page.page.wait_for_selector("#tree-chart .slice")
    page.page.wait_for_selector("#convergence-chart .plot-container")
    assert page.errors == []
    assert [url.split(":")[0] for url in page.requests] == ["file"]


class Misfit(bough.GPTS):
    misfit = "the model <b>does not fit</b>"


def test_the_page_respects_bounds_and_warns(look):
    search = Misfit(bough.Tree(3, 4), bounds=(0, 8), rng=0)
    for _ in range(3):
        path = search.ask()
        search.tell(path, sum(path))
    page = look(search)
    for section in SECTIONS:
        page.show(section)
    assert page.errors == []
    assert page.page.locator("#warning").inner_text() == f"warning: {Misfit.misfit}"
    intervals = page.page.locator("#tree-children tbody tr td:nth-child(3)").all_inner_texts()
    ends = [float(end) for text in intervals if text != "-" for end in text.split(" to ")]
    assert ends
    assert all(0.0 <= end <= 8.0 for end in ends)


def test_the_page_has_the_numbers_of_the_search(opened, result):
    page = opened
    assert page.value("#best-mean") == result.best.mean
    assert page.value("#best-observed") == result.best_observed.value
    assert page.value("#best-value") == result.best_value[0]
    assert page.value("#expected-gap") == result.expected_gap
    assert page.page.locator("#expected").inner_text().startswith("The best path of all is worth ")
    assert page.page.locator("#warning").count() == 0
    assert page.value("#gap") == result.certificate.gap
    assert page.value("#bound") == result.certificate.upper
    history = result.history
    assert history.failed > 0
    assert page.value("#completed") == len(history) - history.failed
    observed = history.values[np.isfinite(history.values)]
    assert page.page.locator("#best-path").inner_text() == " ".join(map(str, result.best.path))
    page.page.click("[data-sort=id]")
    page.page.click("[data-sort=value]")
    shown = page.page.locator("#trial-table tbody tr td:nth-child(3) [data-value]").all()
    values = [float(cell.get_attribute("data-value")) for cell in shown]
    assert values == sorted(observed, reverse=True)[: len(values)]
    page.show("convergence")
    drawn = "document.getElementById('convergence-chart').data.map(t => [t.name, [...t.y]])"
    traces = dict(page.page.evaluate(drawn))
    assert traces["values"] == observed.tolist()
    assert traces["best value"][-1] == max(observed)
    assert traces["bounds on the best"][-1] == pytest.approx(result.certificate.upper, rel=1e-9)


def test_the_tree_can_be_explored_by_mouse(opened, result):
    page = opened
    page.show("tree")
    page.page.press("#tree-chart", "Home")
    slices = page.page.locator("#tree-chart .slice")
    slices.first.wait_for()
    slices.nth(1).hover()
    hover = page.page.locator("#tree-chart .hoverlayer .hovertext")
    hover.first.wait_for()
    text = hover.first.text_content()
    assert "mean" in text
    assert "visit" in text
    assert "95 %" in text
    slices.nth(1).click()  # a child of the root
    page.page.wait_for_function("document.querySelectorAll('#crumbs button').length === 2")
    step = int(page.page.locator("#crumbs button").nth(1).inner_text())
    mean, std = result.searcher.belief.posterior([(step,)])
    visits = sum(path[0] == step for path in result.history.paths)
    said = page.page.locator("#node").inner_text()
    assert f"mean {float(f'{mean[0]:.6g}')}" in said
    assert f"{visits} visits" in said
    assert f"{float(f'{mean[0] + 1.96 * std[0]:.4g}')}" in said
    page.page.click("#crumbs button >> nth=0")
    page.page.wait_for_function("document.querySelectorAll('#crumbs button').length === 1")
    assert page.errors == []


def test_the_tree_can_be_explored_by_keyboard(opened, result):
    page = opened
    page.show("tree")
    crumbs = "document.querySelectorAll('#crumbs button').length"
    page.page.press("#tree-chart", "Home")
    for key, length in (("ArrowDown", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("Home", 1)):
        page.page.keyboard.press(key)
        assert page.page.evaluate(crumbs) == length
    page.page.keyboard.press("ArrowDown")
    steps = []
    for key in ("ArrowLeft",) * 5 + ("ArrowRight",) * 5:  # to the first child, and to the last
        page.page.keyboard.press(key)
        steps.append(page.page.locator("#crumbs button").nth(1).inner_text())
    assert steps[4:] == ["0", "1", "2", "3", "4", "4"]
    page.page.focus("#tree-children button")
    page.page.keyboard.press("Enter")
    assert page.page.evaluate(crumbs) == 3
    assert page.errors == []


def test_unexplored_children_are_shown(look):
    page = look(bough.maximize(sum, bough.Tree(50, 3), budget=30, rng=0))
    page.show("tree")
    labels = page.page.evaluate("[...document.getElementById('tree-chart').data[0].hovertext]")
    explored = {path[0] for path in page_paths(page)}
    assert any(f"{50 - len(explored)} children unexplored" in text for text in labels)
    assert f"{50 - len(explored)} children unexplored" in page.page.inner_text("#tree-rest")


def test_every_one_of_500_children_is_reachable_by_mouse_and_keyboard(look):
    trials = [Trial(k, (k % 500, 0), None, float(k % 500), "completed", k, k) for k in range(700)]
    page = look(SearchView(trials, None))
    page.show("tree")
    slices = page.page.locator("#tree-chart .slice")
    slices.first.wait_for()
    widths = page.page.evaluate("document.getElementById('tree-chart').boxes.map(b => b.width)")
    assert min(widths) > 17
    drawn = page.page.evaluate(
        "[...document.querySelectorAll('#tree-chart .slice')]"
        ".map(e => e.getBoundingClientRect().width)"
    )
    assert len(drawn) == len(widths)
    assert min(drawn) > 15
    label = page.page.evaluate(
        "document.getElementById('tree-chart').data[0].hovertext.find(t => t.includes(' more<'))"
    )
    assert "mean 499" in label  # the best of the children that are not drawn
    seen = set()
    nodes = "document.getElementById('tree-chart').boxes.filter(b => b.kind === 'node' && b.parent === 0).map(b => b.node)"  # noqa: E501 - a line of script
    page.page.press("#tree-chart", "Home")
    for _ in range(40):
        before = len(seen)
        seen.update(page.page.evaluate(nodes))
        if len(seen) == before:
            break
        page.page.keyboard.press("PageDown")
    assert len(seen) == 500
    page.page.keyboard.press("ArrowUp")  # from the group to the node
    assert page.page.locator("#crumbs button").count() == 1
    groups = "document.getElementById('tree-chart').boxes.findIndex(b => b.kind === 'group')"
    slices.nth(page.page.evaluate(groups)).click()
    page.page.wait_for_function("document.querySelectorAll('#crumbs button').length === 2")
    assert "narrow" in page.page.inner_text("#crumbs button[aria-current]")
    page.page.click("#tree-more")
    assert page.page.locator("#tree-children tbody tr").count() == 220
    assert page.errors == []


def conditional(budget=60):
    space = bough.Space(
        rate=bough.Float(1e-5, 1e-1, log=True),
        model=bough.Choice({"forest": bough.Space(trees=bough.Int(10, 500)), "linear": None}),
        cut=bough.Choice([None, HOSTILE]),
    )
    rng = random.Random(0)

    def score(params):
        bad = abs(math.log10(params["rate"]) + 2) + 10 / params.get("trees", 5)
        return -bad + rng.gauss(0, 0.1)

    return bough.maximize(score, space, budget=budget, rng=0)


def test_a_search_of_a_space(look):
    result = conditional()
    page = look(result)
    for section in SECTIONS:
        page.show(section)
    assert page.value("#gap") == result.certificate.gap
    assert page.value("#bound") == result.certificate.upper
    summary = page.page.inner_text("#summary")
    assert "upper bound" in summary
    assert "of all params" in summary
    whose = f"partition {result.certificate.partition + 1} of 8"
    assert whose in summary
    assert "path" not in page.page.inner_text("#trial-table thead")
    page.page.wait_for_selector("#importance-chart .plot-container")
    assert whose in page.page.inner_text("#tree-note")
    assert whose in page.page.inner_text("#convergence-note")
    drawn = "document.getElementById('convergence-chart').data.map(t => [t.name, [...t.y]])"
    traces = dict(page.page.evaluate(drawn))
    assert traces["bounds on the best"][-1] == pytest.approx(result.certificate.upper, rel=1e-9)
    cell = page.page.locator("#tree-children tbody tr").first.inner_text()
    assert " to " in cell or " = " in cell
    texts = page.page.evaluate("[...document.getElementById('tree-chart').data[0].hovertext]")
    assert any("95 %" in text for text in texts[1:])
    page.page.fill("#trial-filter", "cut=none model=linear")
    chosen = [p for p in result.history.params if p["cut"] is None and p["model"] == "linear"]
    page.page.wait_for_function(
        f"document.getElementById('trial-count').textContent === '{len(chosen)} of 60 trials'"
    )
    assert page.page.evaluate("window.hacked") is None
    assert page.errors == []


def test_charts_have_the_size_of_their_places(look):
    page = look(bough.maximize(sum, bough.Tree(3, 5), budget=40, rng=0))
    for section in ("convergence", "tree", "parameters", "model"):
        page.show(section)
        sizes = page.page.evaluate(
            f"[...document.querySelectorAll('#{section} .chart')].map(place => [place,"
            " place.querySelector('svg.main-svg')].map(e => e.getBoundingClientRect().width))"
        )
        assert sizes
        for place, drawn in sizes:
            assert drawn == pytest.approx(place, abs=2)


def test_filters_accept_numbers_with_and_without_separators(look):
    space = bough.Space(n=bough.Int(990, 1010), x=bough.Float(0, 1))
    rng = random.Random(0)
    result = bough.maximize(
        lambda p: p["n"] * 3 + p["x"] + rng.gauss(0, 1), space, budget=40, rng=0
    )
    page = look(result)
    numbers = [params["n"] for params in result.history.params]
    common = max(numbers, key=lambda n: (n >= 1000, numbers.count(n)))
    for text in (f"n={common}", f"n={common:,}"):
        page.page.fill("#trial-filter", text)
        expected = f"{numbers.count(common)} of 40 trials"
        page.page.wait_for_function(
            f"document.getElementById('trial-count').textContent === '{expected}'"
        )
        page.page.fill("#trial-filter", "")
        page.page.wait_for_function(
            "document.getElementById('trial-count').textContent === '40 trials'"
        )
    above = sum(result.history.values > 3000)
    page.page.fill("#trial-filter", "> 3,000")
    page.page.wait_for_function(
        f"document.getElementById('trial-count').textContent.startsWith('{above} of')"
    )
    page.show("convergence")
    note = page.page.inner_text("#convergence-note")
    assert "combine all partitions" in note
    names = page.page.evaluate("document.getElementById('convergence-chart').data.map(t => t.name)")
    assert "best cell" in names
    assert page.errors == []


def test_paths_are_sorted_step_by_step(look):
    paths = [(10, 2), (9, 11), (9, 2), (2,), ()]
    trials = [Trial(k, path, None, 1.0, "completed", k, k) for k, path in enumerate(paths)]
    page = look(SearchView(trials, None))
    page.page.click("[data-sort=path]")
    rows = page.page.locator("#trial-table tbody tr td:nth-child(4)").all_inner_texts()
    assert rows == ["10 2", "9 11", "9 2", "2", ""]


def page_paths(page):
    text = page.page.evaluate("document.getElementById('trials-data').textContent")
    return [tuple(map(int, path.split())) for path in json.loads(text)["path"]]


def test_trials_are_sorted_and_filtered(opened, result):
    page = opened
    page.page.fill("#trial-filter", "4 3")
    matching = [p for p in result.history.paths if "4 3" in " ".join(map(str, p))]
    expected = f"{len(matching)} of {len(result.history)} trials"
    page.page.wait_for_function(
        f"document.getElementById('trial-count').textContent === '{expected}'"
    )
    page.page.fill("#trial-filter", "> 5")
    above = sum(result.history.values > 5)
    page.page.wait_for_function(
        f"document.getElementById('trial-count').textContent.startsWith('{above} of')"
    )
    page.page.fill("#trial-filter", "")
    everything = f"{len(result.history)} trials"
    page.page.wait_for_function(
        f"document.getElementById('trial-count').textContent === '{everything}'"
    )
    page.page.click("[data-sort=id]")
    page.page.focus("[data-sort=value]")
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")  # the other way round
    assert page.page.locator("th[aria-sort=ascending]").count() == 1
    first = page.page.locator("#trial-table [data-value]").first.get_attribute("data-value")
    assert float(first) == min(result.history.values)
    page.page.click("#trial-next")
    assert page.page.inner_text("#trial-page").startswith("page 2 of")
    page.page.click("#trial-back")
    assert page.page.inner_text("#trial-page").startswith("page 1 of")


def test_failed_trials_have_their_reasons(look, result, tmp_path):
    def sometimes(path):
        if path[0] == 1:
            raise ArithmeticError(HOSTILE)
        return float(sum(path))

    found = bough.maximize(
        sometimes, bough.Tree(2, 3), budget=8, rng=0, catch=ArithmeticError, study=tmp_path / "s.db"
    )
    page = look(found)
    page.page.select_option("#trial-state", "f")
    rows = page.rows("#trial-table")
    assert len(rows) == found.study.failed
    assert all(HOSTILE in row for row in rows)
    assert page.errors == []


def test_hostile_names_are_only_text(look):
    trials = [
        Trial(
            i, (i % 3,), {HOSTILE: f"{HOSTILE}{i % 2}", "__proto__": i}, float(i), "completed", i, i
        )
        for i in range(20)
    ]
    page = look(SearchView(trials, None))
    for section in SECTIONS:
        page.show(section)
    page.page.wait_for_selector("#slice-chart .plot-container")
    page.page.select_option("#slice-name", label=HOSTILE)
    page.page.fill("#trial-filter", HOSTILE)
    page.page.wait_for_timeout(300)
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("img").count() == 0
    assert HOSTILE in page.page.inner_text("#trial-table")
    assert page.errors == []
    tree = bough.Tree(2, 2, labels=[HOSTILE, "b"])
    page = look(bough.maximize(len, tree, budget=4, rng=0))
    for section in SECTIONS:
        page.show(section)
    page.page.wait_for_selector("#tree-chart .slice")
    assert HOSTILE in page.page.inner_text("#tree-children")
    assert page.page.evaluate("window.hacked") is None
    assert page.errors == []


def test_names_cannot_change_the_text_around_them(look):
    reversing = "x\u202e\x1b $& $' \U0001f333"
    space = bough.Space(**{reversing: bough.Float(0, 1)})
    result = bough.maximize(lambda p: p[reversing], space, budget=5, rng=0)
    page = look(result)
    for section in SECTIONS:
        page.show(section)
    page.page.wait_for_selector("#importance-chart .plot-container")
    for place in ("#summary", "#trial-table", "#importance-chart", "#slice-name"):
        text = page.page.locator(place).evaluate("place => place.textContent")
        assert "x\\u202e\\u001b $& $' \U0001f333" in text, place
    assert "\u202e" not in page.page.evaluate("document.querySelector('main').innerText")
    assert page.page.inner_text("#summary").count("With probability") == 1
    assert page.errors == []


def test_the_summary_of_a_path_of_a_thousand_steps_is_short(look):
    tree = bough.Tree(2, 1000)
    kernel = bough.kernels.Discounted(0.9)
    searcher = bough.GPTS(tree, kernel, 0.1, rng=0)
    page = look(bough.maximize(sum, tree, budget=3, searcher=searcher), width=390)
    assert len(page.page.locator("#best-path").evaluate("e => e.textContent")) == 1999
    assert page.page.locator("#summary").evaluate("e => e.clientHeight") < 1000
    assert "(1000 steps)" in page.page.inner_text("#summary")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_in_light_and_dark(look, result, scheme):
    page = look(result, width=360, scheme=scheme)
    for section in SECTIONS:
        page.show(section)
    page.page.wait_for_timeout(300)
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 28)")
    assert page.errors == []


def one():
    return bough.maximize(sum, bough.Tree(2, 3), budget=1, rng=0)


@pytest.mark.parametrize(
    "source",
    [
        lambda: SearchView([], None),
        one,
        lambda: bough.maximize(lambda path: 1.0, bough.Tree(1, 0), budget=1, rng=0),
        lambda: bough.maximize(sum, bough.Tree(3, 3), budget=20, searcher="uct", rng=0),
        lambda: bough.maximize(sum, bough.Tree(math.inf, 3), budget=20, rng=0),
        lambda: bough.minimize(sum, bough.Tree(3, 3), budget=20, rng=0),
        lambda: conditional(1),
        lambda: planning.plan(Corridor(), budget=60, depth=4, rng=0),
    ],
    ids=["nothing", "one", "depth 0", "uct", "endless", "minimize", "one of a space", "plan"],
)
def test_any_search_has_a_page(look, source):
    page = look(source())
    observed = page.value("#completed") > 0
    for section in SECTIONS if observed else ("summary", "trials", "reproduce"):
        page.show(section)
    assert page.errors == []
    assert page.page.locator("#summary .tile").count() >= 3
    empty = page.page.get_by_text("No observations yet.").count()
    assert empty == (0 if observed else 4)


def test_a_hundred_thousand_trials(look):
    count = 100_000
    trials = [
        Trial(k, (k % 7, k % 5, k % 3), None, math.sin(k), "completed", k, k) for k in range(count)
    ]
    page = look(SearchView(trials, None))
    assert page.value("#completed") == count
    for section in SECTIONS:
        page.show(section)
    page.page.click("[data-sort=value]")
    best = page.page.locator("#trial-table [data-value]").first.get_attribute("data-value")
    assert float(best) == max(math.sin(k) for k in range(count))
    points = "document.getElementById('convergence-chart').data[0].x.length"
    assert page.page.evaluate(points) < 10_000
    # Every point is drawn after zooming in.
    page.page.evaluate(
        "Plotly.relayout('convergence-chart', {'xaxis.range[0]': Math.log10(50000),"
        " 'xaxis.range[1]': Math.log10(50400)})"
    )
    page.page.wait_for_function(f"{points} < 1000")
    seen = set(page.page.evaluate("[...document.getElementById('convergence-chart').data[0].x]"))
    assert set(range(50_000, 50_401)) <= seen
    assert page.errors == []


def test_watch_follows_a_running_study(look, tmp_path):
    file = tmp_path / "run.db"
    study = bough.Study.create(file, bough.Tree(3, 4), rng=0, durability="process")
    with study, served(file) as server:
        page = look(server.url)
        assert "none yet" in page.page.inner_text("#summary")
        page.show("trials")
        for target in (5, 40):
            while study.trials.count("completed") < target:
                trial = study.ask()
                study.tell(trial, float(sum(trial.path)))
            page.wait_for_trials(target)
        assert page.value("#best-mean") == study.best().mean
        assert page.value("#gap") == study.certificate.gap
        assert page.page.inner_text("#trial-count") == "40 trials"
        page.show("tree")
        page.page.wait_for_selector("#tree-chart .slice")
        assert page.errors == []
        assert all(url.startswith(server.url) for url in page.requests)


def test_watch_follows_a_search_of_a_space(look, tmp_path):
    file = tmp_path / "run.db"
    space = bough.Space(x=bough.Float(0, 1), kind=bough.Choice(["a", "b"]))
    study = bough.Study.create(file, space, rng=0, durability="process")
    with study, served(file) as server:
        page = look(server.url)
        for target in (3, 30):
            while study.trials.count("completed") < target:
                trial = study.ask()
                study.tell(trial, trial.params["x"] + (trial.params["kind"] == "a"))
            page.wait_for_trials(target)
            for section in SECTIONS:
                page.show(section)
            page.page.wait_for_selector("#tree-chart .slice")
            if target == 3:
                page.page.locator("#tree-children button").first.click()
        certificate = study.certificate
        whose = f"partition {certificate.partition + 1} of {certificate.partitions}"
        assert whose in page.page.inner_text("#tree-note")
        assert page.value("#gap") == certificate.gap
        assert page.page.inner_text("#trial-count") == "30 trials"
        assert page.errors == []


def test_changes_keep_the_state_of_the_page(look, tmp_path):
    file = tmp_path / "run.db"
    tree = bough.Tree(4, 4)
    study = bough.Study.create(file, tree, rng=0, durability="process")

    def search(count):
        for _ in range(count):
            trial = study.ask()
            study.tell(trial, sum(0.5**i * step for i, step in enumerate(trial.path)))

    search(6)
    with study, served(file) as server:
        page = look(server.url)
        for section in SECTIONS:
            page.show(section)
        page.page.wait_for_function("document.documentElement.dataset.version")
        page.page.locator("#tree-children button").first.click()
        page.page.locator("#tree-children button").first.click()
        there = page.page.inner_text("#node").split(":")[0]
        page.page.locator("#slice-name").select_option("step 3")
        page.page.locator("[data-sort=value]").click()
        page.page.evaluate(
            "Plotly.relayout('convergence-chart', {'xaxis.range[0]': 0, 'xaxis.range[1]': 0.5})"
        )
        search(60)
        page.wait_for_trials(66)
        page.page.wait_for_function(
            "document.getElementById('convergence-chart').data[1].x.at(-1) === 66"
        )
        assert page.page.inner_text("#node").split(":")[0] == there
        assert page.page.locator("#slice-name").input_value() == "step 3"
        focus = page.page.evaluate("document.activeElement.dataset.sort")
        assert focus == "value"
        zoom = "document.getElementById('convergence-chart').layout.xaxis.range"
        assert page.page.evaluate(zoom) == [0, 0.5]
        belief = study.searcher.belief
        kernel = page.page.locator("#model-tiles .wide [title]").get_attribute("title")
        assert kernel == repr(belief.kernel)
        assert page.value("#model-tiles .tile:nth-child(3)") == belief.center
        assert page.errors == []
