// The explored tree: an icicle of what lies below one node, and the children of that node as a table.

const DEPTH = 4; // levels that are drawn at once
const BOXES = 300; // and boxes

let here = 0; // the node that is looked at
let known = null; // the tree that it is a node of
let family = null; // children of each node, made once for a snapshot

function children(tree) {
  if (family?.of === tree) return family.lists;
  const lists = tree.parent.map(() => []);
  for (let n = 1; n < tree.parent.length; n++) lists[tree.parent[n]].push(n);
  family = { of: tree, lists };
  return lists;
}

function way(tree, node) {
  const nodes = [];
  for (let n = node; n > 0; n = tree.parent[n]) nodes.push(n);
  return [0, ...nodes.reverse()];
}

const called = (tree, n) => (n === 0 ? "root" : tree.names ? tree.names[n] : String(tree.step[n]));
const pathOf = (tree, n) => way(tree, n).slice(1).map((m) => tree.step[m]).join(" ");

function interval(tree, n) {
  const mean = tree.mean[n], std = tree.std[n];
  return std === null ? "-" : `${say(mean - 1.96 * std, 4)} to ${say(mean + 1.96 * std, 4)}`;
}

function unexplored(tree, n) {
  const count = tree.unexplored[n];
  if (count === "more") return "always more children to make";
  return count === null ? "" : count > 0 ? `${say(count)} ${count === 1 ? "child" : "children"} unexplored` : "";
}

// Dark blue to yellow, like the figures: readable for everybody, on light and dark.
const SCALE = [[0, 32, 77], [66, 77, 108], [124, 123, 120], [188, 174, 108], [255, 234, 70]];

function colour(share, certainty) {
  const at = Math.min(0.9999, Math.max(0, share)) * (SCALE.length - 1);
  const low = SCALE[Math.floor(at)], high = SCALE[Math.floor(at) + 1];
  const mixed = low.map((c, i) => Math.round(c + (high[i] - c) * (at % 1)));
  // Faint is mixed with the ground, so that we know whether letters on it are to be dark or light.
  const ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  const weight = 0.2 + 0.8 * (certainty ?? 1);
  const [r, g, b] = mixed.map((c, i) => Math.round(weight * c + (1 - weight) * ground[i]));
  return { fill: `rgb(${r},${g},${b})`, letters: 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#000" : "#fff" };
}

// What is drawn below a node: its descendants by visits, and what nobody looked at.
function boxesBelow(tree, root) {
  const lists = children(tree);
  const chosen = [root];
  let level = [root];
  for (let depth = 0; depth < DEPTH && level.length; depth++) {
    let next = level.flatMap((n) => lists[n]);
    next.sort((a, b) => tree.visits[b] - tree.visits[a]);
    next = next.slice(0, Math.max(0, BOXES - chosen.length));
    chosen.push(...next);
    level = next;
  }
  return chosen;
}

// News number the nodes anew: go to where the reader was, as far as that exists.
function stay(tree) {
  const steps = known === null || known === tree ? [] : way(known, here).slice(1).map((n) => known.step[n]);
  if (known !== tree) here = 0;
  known = tree;
  for (const step of steps) {
    const next = children(tree)[here].find((n) => tree.step[n] === step);
    if (next === undefined) break;
    here = next;
  }
}

function drawTree(state) {
  const { tree } = state.snapshot;
  stay(tree);
  drawCrumbs(state);
  const lists = children(tree);
  const chosen = boxesBelow(tree, here);
  const shown = new Set(chosen);
  const means = chosen.map((n) => tree.mean[n]);
  const low = Math.min(...means), high = Math.max(...means);
  const boxes = { ids: [], labels: [], parents: [], values: [], text: [], nodes: [],
    colors: [], letters: [], shapes: [] };
  const add = (id, label, parent, value, text, { fill, letters }, shape, node) => {
    boxes.ids.push(id); boxes.labels.push(label); boxes.parents.push(parent);
    boxes.values.push(value); boxes.text.push(text); boxes.colors.push(fill); boxes.letters.push(letters);
    boxes.shapes.push(shape); boxes.nodes.push(node);
  };
  for (const n of chosen) {
    const inside = lists[n].filter((child) => shown.has(child));
    const share = high > low ? (tree.mean[n] - low) / (high - low) : 0.5;
    const text = `<b>${plain(called(tree, n))}</b><br>path ${pathOf(tree, n) || "()"}`
      + `<br>mean ${say(tree.mean[n])}<br>95 % ${interval(tree, n)}`
      + `<br>${plural(tree.visits[n], "visit")}<br>${unexplored(tree, n)}`;
    add(`n${n}`, brief(called(tree, n)), n === here ? "" : `n${tree.parent[n]}`,
      inside.length ? 0 : tree.visits[n], text, colour(share, tree.certainty[n]), "", n);
  }
  // At the end, so that they stand at the right of the others.
  for (const n of chosen) {
    const inside = lists[n].filter((child) => shown.has(child));
    const rest = lists[n].length - inside.length + tree.hidden[n];
    const room = 0.06 * tree.visits[n];
    if (inside.length && tree.unexplored[n] !== 0 && tree.unexplored[n] !== null) {
      add(`f${n}`, "?", `n${n}`, room, `<b>frontier</b><br>${unexplored(tree, n)}`,
        { fill: style("--raised"), letters: style("--ink") }, "/", n);
    }
    if (inside.length && rest > 0) {
      add(`h${n}`, "...", `n${n}`, room, `${say(rest)} more not drawn: zoom in`,
        { fill: style("--line"), letters: style("--ink") }, "", n);
    }
  }
  const trace = { type: "icicle", ids: boxes.ids, labels: boxes.labels, parents: boxes.parents,
    values: boxes.values, customdata: boxes.nodes, hovertext: boxes.text, hoverinfo: "text",
    branchvalues: "remainder", sort: false, tiling: { orientation: "v", pad: 1 },
    pathbar: { visible: false }, textposition: "middle center", textfont: { color: boxes.letters }, root: { color: "rgba(0,0,0,0)" },
    marker: { colors: boxes.colors, pattern: { shape: boxes.shapes, fgcolor: style("--soft"), size: 6 },
      line: { width: 1, color: style("--ground") } } };
  const place = $("tree-chart");
  chart(place, [trace], { margin: { l: 0, r: 0, t: 4, b: 0 }, uniformtext: { minsize: 10, mode: "hide" } },
    { buttons: false })
    .then(() => {
      if (place.dataset.clicks) return;
      place.dataset.clicks = "yes";
      place.on("plotly_icicleclick", (event) => {
        const node = event.points[0].customdata;
        goTo(state, node === here ? state.snapshot.tree.parent[node] : node);
        return false; // we draw what lies below, and not plotly, which knows the drawn part only
      });
    });
  drawChildren(state);
}

function goTo(state, node) {
  if (node < 0) return;
  here = node;
  drawTree(state);
}

function drawCrumbs(state) {
  const { tree } = state.snapshot;
  const nodes = way(tree, here);
  refill($("crumbs"), ...nodes.map((n) => el("button", { type: "button",
    text: called(tree, n), "aria-current": n === here ? "true" : null,
    onclick: () => goTo(state, n) })));
  const facts = [`mean ${say(tree.mean[here])}`, `95 % ${interval(tree, here)}`,
    plural(tree.visits[here], "visit"), unexplored(tree, here)].filter(Boolean);
  $("node").textContent = `${pathOf(tree, here) || "root"}: ${facts.join(", ")}`;
}

function drawChildren(state) {
  const { tree } = state.snapshot;
  const lists = children(tree);
  const better = state.snapshot.summary.direction === "minimize" ? -1 : 1; // the best first
  const rows = lists[here].slice().sort((a, b) => better * (tree.mean[b] - tree.mean[a]))
    .map((n) => el("tr", {},
      el("td", {}, el("button", { type: "button", text: called(tree, n),
        "aria-label": `go to ${called(tree, n)}`, onclick: () => {
          goTo(state, n);
          $("tree-children").querySelector("button")?.focus();
        } })),
      el("td", { class: "number" }, number(tree.mean[n])),
      el("td", { class: "number", text: interval(tree, n) }),
      el("td", { class: "number", text: say(tree.visits[n]) }),
      el("td", { class: "number", text: lists[n].length + tree.hidden[n] }),
      el("td", { class: "number", text: tree.unexplored[n] === "more" ? "endless" : say(tree.unexplored[n]) })));
  const rest = [];
  if (tree.hidden[here]) rest.push(`${say(tree.hidden[here])} rarely visited children are not in this page`);
  if (unexplored(tree, here)) rest.push(unexplored(tree, here));
  refill($("tree-children"),
    el("thead", {}, el("tr", {}, ...["step", "mean", "95 % interval", "visits", "explored below", "unexplored below"]
      .map((name, i) => el("th", { scope: "col", text: name, class: i ? "number" : null })))),
    el("tbody", {}, ...rows.slice(0, 200)));
  $("tree-rest").textContent = rest.join("; ");
}

// Arrows: down to the best child, up to the parent, left and right among the children of one node.
function treeKeys(state, event) {
  const { tree } = state.snapshot;
  const lists = children(tree);
  const best = (nodes) => nodes.reduce((a, b) => (tree.visits[b] > tree.visits[a] ? b : a), nodes[0]);
  let target;
  if (event.key === "ArrowDown") target = best(lists[here]);
  else if (event.key === "ArrowUp") target = tree.parent[here];
  else if (event.key === "Home") target = 0;
  else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const siblings = here ? lists[tree.parent[here]] : [0];
    target = siblings[siblings.indexOf(here) + (event.key === "ArrowLeft" ? -1 : 1)];
  } else return;
  event.preventDefault();
  if (target !== undefined) goTo(state, target);
}
