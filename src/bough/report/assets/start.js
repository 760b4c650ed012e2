// The page comes to life: what is small at once, charts when they are seen, and news if there are any.

function parsed(id) {
  return JSON.parse($(id).textContent);
}

const state = {
  snapshot: parsed("snapshot-data"),
  trials: null,
  names: [], // of parameters that have columns of their own
  // Trials with a value, in the order in which they were told.
  told() {
    if (!this.order) {
      const ended = this.trials.ended;
      this.order = [];
      for (let i = 0; i < this.count; i++) if (this.trials.state[i] === "t") this.order.push(i);
      this.order.sort((a, b) => ended[a] - ended[b] || a - b);
    }
    return this.order;
  },
  // What the trials chose for one name: a parameter, or a step of their paths.
  choice(name) {
    const column = this.trials.choices?.[name];
    if (column) {
      const { categories, at } = column;
      return { categories, at: (i) => at[i], text: (i) => (at[i] === null ? "" : categories ? categories[at[i]] : say(at[i])) };
    }
    const step = Number(name.replace("step ", "")) - 1;
    const at = (i) => { const found = this.trials.path[i].split(" ")[step]; return found ? Number(found) : null; };
    return { categories: null, at, text: (i) => String(at(i) ?? "") };
  },
  get count() { return this.trials.state.length; },
  take(trials) {
    this.order = null;
    if (trials.begin && this.trials) {
      const added = trials.value.length;
      for (const name of ["value", "ended", "path", "took", "noise"]) {
        if (!this.trials[name] && !trials[name]) continue; // a column that there may be, and is not
        const before = this.trials[name] ?? Array(trials.begin).fill(null);
        trials[name] = before.slice(0, trials.begin).concat(trials[name] ?? Array(added).fill(null));
      }
      trials.state = this.trials.state.slice(0, trials.begin) + trials.state;
      trials.reason = { ...this.trials.reason, ...trials.reason };
    }
    this.trials = trials;
    this.names = Object.keys(trials.choices ?? {});
  },
};

const sections = {
  summary: { make() {}, draw: drawSummary },
  convergence: { make: makeConvergence, draw: drawConvergence, chart: true },
  tree: { make: makeTree, draw: drawTree, chart: true },
  trials: { make: makeTable, draw: drawTable },
  parameters: { make: makeParameters, draw: drawParameters, chart: true },
  learnt: { make: makeLearnt, draw: drawLearnt, chart: true },
  reproduce: { make() {}, draw: drawReproduce },
};
const seen = new Set();

function draw(name) {
  const section = sections[name];
  if (section.chart && !state.snapshot.along) return; // nothing was told
  section.draw(state);
  document.querySelector(`#${name}`).dataset.drawn = "yes";
}

function drawAll() {
  if (state.snapshot.along) drawNotes(state);
  for (const [name, section] of Object.entries(sections)) if (!section.chart || seen.has(name)) draw(name);
}

function watchCharts() {
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting || seen.has(entry.target.id)) continue;
      seen.add(entry.target.id);
      draw(entry.target.id);
    }
  }, { rootMargin: "200px" });
  for (const [name, section] of Object.entries(sections)) if (section.chart) observer.observe($(name));
}

// ---------------------------------------------------------------- following a running study

async function follow() {
  const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  let version = "", pause = 1;
  for (;;) {
    await wait(document.hidden ? 5 * pause : pause);
    try {
      const asked = performance.now();
      const answer = await fetch(`snapshot?version=${version}&settled=${state.trials.settled}`);
      if (!answer.ok) throw new Error(`the server says ${answer.status}`);
      const news = answer.status === 204 ? null : await answer.json();
      if (news) {
        const other = version && version.split(".")[0] !== news.version.split(".")[0]; // it was read anew
        version = news.version;
        state.snapshot = news.snapshot;
        state.take(news.trials);
        makeChanging(other);
        drawAll();
      }
      pause = Math.max(1, (performance.now() - asked) / 250); // at most a fifth of the time is ours
      $("live").textContent = `following, ${plural(state.count, "trial")}, `
        + `last look at ${new Date().toLocaleTimeString()}`;
    } catch (error) {
      $("live").textContent = `not following: ${error.message}; trying again`;
      pause = Math.min(30, 2 * pause);
    }
    document.documentElement.dataset.version = version;
  }
}

// Sections whose parts depend on what was found; what the reader has chosen stays.
function makeChanging(all) {
  for (const [name, section] of Object.entries(sections)) {
    const there = body(name).querySelector(".chart");
    if (section.chart && (all || !there || !state.snapshot.along)) section.make(state);
  }
}

function start() {
  state.take(parsed("trials-data"));
  $("sections").replaceChildren(...Object.keys(sections).map((name) =>
    el("a", { href: `#${name}`, text: document.querySelector(`#${name} > h2`).textContent })));
  for (const section of Object.values(sections)) section.make(state);
  drawAll();
  document.documentElement.dataset.ready = performance.now().toFixed(0);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  if (document.body.dataset.follow === "yes") follow();
}

start();
// plotly.js is large and comes last: what needs it waits until all was read.
document.addEventListener("DOMContentLoaded", watchCharts);
