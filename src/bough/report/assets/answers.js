// The page of a search with a generator. Answers come as text, and are never turned into markup.

const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "pentagon", "star", "hexagon"];
let facts = JSON.parse($("snapshot-data").textContent);
let selected = null; // the id of the answer that is shown, null: the best
let byId = new Map();

const LAYOUT = () => ({
  margin: { l: 60, r: 20, t: 10, b: 45 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
  font: { color: style("--ink") }, hovermode: "closest", legend: { orientation: "h", y: 1.1 },
});
const axis = (title) => ({ title: { text: title }, gridcolor: style("--line"), zerolinecolor: style("--line") });
const OPTIONS = { responsive: true, displaylogo: false };

function tile(label, figure, more) {
  return el("div", { class: "tile" }, el("p", { class: "label", text: label }), el("p", { class: "figure" }, figure),
    more ? el("p", { class: "more", text: more }) : null);
}

function drawSummary() {
  const best = byId.get(facts.best);
  const tiles = [];
  if (best) tiles.push(tile("best mean", number(best.mean), `± ${say(best.deviation, 2)}, observed ${say(best.score, 4)}`));
  tiles.push(tile("calls", number(facts.calls), facts.failed ? `${say(facts.failed)} failed` : "none failed"));
  tiles.push(tile("cost", number(facts.cost)));
  tiles.push(tile("answers", number(byId.size + facts.hidden), facts.hidden ? `${say(byId.size)} shown` : null));
  tiles.push(tile("noise of a score", number(facts.noise, 3)));
  tiles.push(tile("running calls", number(facts.running.length)));
  const reasons = facts.reasons.map(([id, reason]) => el("li", { text: `call ${id}: ${reason}` }));
  refill(body("summary"), el("div", { class: "tiles" }, ...tiles), el("p", { class: "note", text: facts.stopped_by }),
    reasons.length ? el("details", {}, el("summary", { text: "Failures" }), el("ul", {}, ...reasons)) : null);
}

function drawProgress() {
  const marks = { x: facts.total, y: facts.scores, mode: "markers", name: "answers", marker: { color: style("--value"), size: 5 } };
  const line = { x: facts.total, y: facts.best_so_far, mode: "lines", name: "best mean so far", line: { color: style("--best"), shape: "hv" } };
  Plotly.react(body("progress"), [marks, line], { ...LAYOUT(), xaxis: axis("cost"), yaxis: axis("score") }, OPTIONS);
}

// Places from left to right: leaves in the order of the tree, others above the middle of their children.
function places() {
  const children = new Map();
  for (const node of facts.nodes) children.set(node.parent, [...(children.get(node.parent) ?? []), node.id]);
  const at = new Map();
  let next = 0;
  const stack = [...(children.get(null) ?? [])].reverse().map((id) => [id, false]);
  while (stack.length) {
    const [id, done] = stack.pop();
    const below = children.get(id) ?? [];
    if (done) at.set(id, below.reduce((sum, child) => sum + at.get(child), 0) / below.length);
    else if (!below.length) at.set(id, next++);
    else {
      stack.push([id, true]);
      for (const child of [...below].reverse()) stack.push([child, false]);
    }
  }
  return at;
}

function drawTree() {
  const at = places();
  const edges = { x: [], y: [] };
  for (const node of facts.nodes) {
    if (node.parent === null) continue;
    edges.x.push(at.get(node.parent), at.get(node.id), null);
    edges.y.push(byId.get(node.parent).depth, node.depth, null);
  }
  const means = facts.nodes.map((node) => node.mean);
  const traces = [{ ...edges, mode: "lines", hoverinfo: "skip", showlegend: false, line: { color: style("--line"), width: 1 } }];
  const lineage = facts.lineage.map((id) => byId.get(id)).filter(Boolean);
  traces.push({ x: lineage.map((n) => at.get(n.id)), y: lineage.map((n) => n.depth), mode: "lines", hoverinfo: "skip",
    name: "lineage of the best", line: { color: style("--bound"), width: 3 } });
  [...facts.generators, null].forEach((name, i) => {
    const mine = facts.nodes.filter((node) => node.generator === name);
    if (!mine.length) return;
    traces.push({
      x: mine.map((n) => at.get(n.id)), y: mine.map((n) => n.depth), customdata: mine.map((n) => n.id), mode: "markers",
      name: brief(name ?? "seed"), hoverinfo: "text",
      text: mine.map((n) => `answer ${n.id}<br>mean ${say(n.mean, 4)} ± ${say(n.deviation, 2)}<br>score ${say(n.score, 4)}`
        + `<br>promise ${say(n.promise, 3)}<br>cost ${say(n.cost, 4)}`),
      marker: { symbol: SYMBOLS[i % SYMBOLS.length], size: 10, color: mine.map((n) => n.mean), colorscale: "Cividis",
        cmin: means.reduce((a, b) => Math.min(a, b)), cmax: means.reduce((a, b) => Math.max(a, b)),
        line: { color: style("--ink"), width: 0.5 } },
    });
  });
  const place = body("tree");
  Plotly.react(place, traces, { ...LAYOUT(), xaxis: { visible: false }, yaxis: { ...axis("depth"), autorange: "reversed", dtick: 1 } }, OPTIONS);
  if (!place.dataset.listens) {
    place.dataset.listens = "yes";
    place.on("plotly_click", ({ points }) => { if (points[0].customdata !== undefined) show(points[0].customdata); });
  }
}

function show(id) {
  selected = id;
  drawAnswer();
  drawLineage();
}

const chosen = () => byId.get(selected) ?? byId.get(facts.best);

function drawAnswer() {
  const node = chosen();
  if (!node) return refill(body("answer"), el("p", { text: "There is no answer yet." }));
  const by = node.generator === null ? "a seed" : `by ${node.generator}`;
  refill(body("answer"),
    el("p", { id: "which", text: `Answer ${node.id}, ${by}, ${node.parent === null ? "a draft" : `refines ${node.parent}`}: `
      + `score ${say(node.score)}, mean ${say(node.mean, 4)} ± ${say(node.deviation, 2)}, promise ${say(node.promise, 3)}, cost ${say(node.cost)}` }),
    el("pre", { id: "answer-text", text: node.answer }),
    node.feedback === null ? null : el("h3", { text: "Feedback" }),
    node.feedback === null ? null : el("pre", { id: "feedback-text", text: node.feedback }));
}

// The lines of two texts as pairs of a sign and a line, by their longest common subsequence.
function difference(before, after) {
  const a = before.split("\n").slice(0, 400), b = after.split("\n").slice(0, 400);
  const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push([" ", a[i++]]); j++; }
    else if (i < a.length && (j >= b.length || length[i + 1][j] >= length[i][j + 1])) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  }
  return lines;
}

function drawLineage() {
  const steps = [];
  for (let node = chosen(); node; node = byId.get(node.parent)) steps.unshift(node);
  const parts = steps.map((node, i) => {
    const title = `${node.id}: mean ${say(node.mean, 4)}${node.generator === null ? "" : `, by ${node.generator}`}`;
    const text = i ? difference(steps[i - 1].answer, node.answer).map(([sign, line]) => `${sign} ${line}`).join("\n") : node.answer;
    return el("details", i === steps.length - 1 ? { open: "" } : {}, el("summary", { text: title }), el("pre", { class: "step", text }));
  });
  refill(body("lineage"), el("p", { class: "note", text: "From the draft to this answer; each step as a difference from the one before." }), ...parts);
}

function drawBranches() {
  const rows = new Map();
  for (const node of facts.nodes) {
    let root = node;
    while (root.parent !== null) root = byId.get(root.parent);
    const row = rows.get(root.id) ?? { root, best: root, count: 0, cost: 0 };
    row.count += 1;
    row.cost += node.cost;
    if (node.mean > row.best.mean) row.best = node;
    rows.set(root.id, row);
  }
  const cells = (tag, ...values) => el("tr", {}, ...values.map((v) => el(tag, {}, v)));
  const button = (id) => el("button", { type: "button", text: id, onclick: () => show(id) });
  const sorted = [...rows.values()].sort((a, b) => b.best.mean - a.best.mean);
  refill(body("branches"), el("table", {}, el("thead", {}, cells("th", "draft", "answers", "cost", "best answer", "its mean", "promise")),
    el("tbody", {}, ...sorted.slice(0, 200).map((row) => cells("td", button(row.root.id), say(row.count), say(row.cost, 4), button(row.best.id),
      say(row.best.mean, 4), say(row.best.promise, 3))))));
}

function drawAll() {
  byId = new Map(facts.nodes.map((node) => [node.id, node]));
  drawSummary();
  drawAnswer();
  drawLineage();
  drawBranches();
  if (facts.nodes.length) {
    drawProgress();
    drawTree();
  }
}

async function follow() {
  let version = "", pause = 1;
  for (;;) {
    const asked = performance.now();
    try {
      const answer = await fetch(`snapshot?version=${encodeURIComponent(version)}`);
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      if (answer.status !== 204) {
        const changes = await answer.json();
        version = changes.version;
        facts = changes.snapshot;
        drawAll();
      }
      pause = Math.max(1, (performance.now() - asked) / 250);
      $("live").textContent = `following, ${plural(facts.calls, "call")}, updated at ${new Date().toLocaleTimeString()}`;
    } catch (error) {
      $("live").textContent = `not connected: ${error.message}`;
      pause = Math.min(2 * pause, 30);
    }
    await new Promise((done) => setTimeout(done, 1000 * pause));
  }
}

window.addEventListener("load", () => {
  drawAll();
  if (document.body.dataset.follow === "yes") follow();
});
