// The table of trials: sorted, filtered, and shown one page at a time.

const ROWS = 20;
const OF_USER = "parameter "; // prefix of names of the user, which may equal others
const STATES = { c: "completed", i: "infeasible", p: "pruned", f: "failed", r: "running" };
const shownTrials = { sort: "id", down: true, text: "", state: "", page: 0 };

// The trials of the table, in order.
function selected(state) {
  const { trials } = state;
  const wanted = bare(shownTrials.text.trim());
  const words = wanted.split(/\s+/).filter(Boolean);
  const bound = wanted.match(/^(<=|>=|<|>)\s*(-?[\d.]+(?:e[-+]?\d+)?)$/i);
  const chosen = [];
  for (let i = 0; i < state.count; i++) {
    if (shownTrials.state && trials.state[i] !== shownTrials.state) continue;
    if (bound ? !compares(trials.value[i], bound[1], Number(bound[2])) : !contains(state, i, words)) continue;
    chosen.push(i);
  }
  const key = sortKey(state, shownTrials.sort);
  const sign = shownTrials.down ? -1 : 1;
  return chosen.sort((a, b) => {
    const x = key(a), y = key(b);
    if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1; // missing values last
    return sign * ordered(x, y) || a - b;
  });
}

// Compare numbers and texts as they are, paths step by step.
function ordered(x, y) {
  if (!Array.isArray(x)) return x < y ? -1 : x > y ? 1 : 0;
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i] - y[i];
  return x.length - y.length;
}

function compares(value, how, bound) {
  if (value === null) return false;
  return how === "<" ? value < bound : how === ">" ? value > bound
    : how === "<=" ? value <= bound : value >= bound;
}

function contains(state, i, words) {
  if (!words.length) return true;
  // "1 2 3" is a part of a path; words are searched one by one.
  const text = searchable(state)[i];
  return text.includes(words.join(" ")) || (words.some((word) => /\D/.test(word))
    && words.every((word) => text.includes(word)));
}

// A text in lower case, without commas in numbers.
const bare = (text) => text.toLowerCase().replace(/(\d),(?=\d{3})/g, "$1");

// The searchable text of each trial, made once, when it is first needed.
let written = null;

function searchable(state) {
  if (written?.of === state.trials) return written.texts;
  const { trials } = state;
  const columns = state.names.map((name) => ({ name, ...state.choice(name) }));
  const short = (x) => String(Number.isInteger(x) ? x : Number(x.toPrecision(6))); // as in the table
  const value = ({ at, categories }, i) => (at(i) === null ? "" : categories ? categories[at(i)] : short(at(i)));
  const texts = Array.from(trials.state, (mark, i) => bare([trials.path?.[i] ?? "", ...columns.map((column) => `${column.name}=${value(column, i)}`),
    trials.reason[i] ?? "", STATES[mark]].join(" ")));
  written = { of: trials, texts };
  return texts;
}

function sortKey(state, name) {
  const { trials } = state;
  if (name === "id") return (i) => i;
  if (name === "path") {
    const paths = trials.path.map((path) => (path ? path.split(" ").map(Number) : []));
    return (i) => paths[i];
  }
  if (name === "state") return (i) => trials.state[i];
  if (name === "value" || name === "noise" || name === "ended" || name === "took") return (i) => trials[name][i];
  const column = state.choice(name.replace(OF_USER, ""));
  return (i) => column.at(i);
}

function drawTable(state) {
  const { trials, snapshot } = state;
  const chosen = selected(state);
  const pages = Math.max(1, Math.ceil(chosen.length / ROWS));
  shownTrials.page = Math.min(shownTrials.page, pages - 1);
  const optional = ["noise", "took"].filter((name) => trials[name]);
  // Parameters come first; the path may be long.
  const columns = ["id", "state", "value", ...state.names.map((name) => OF_USER + name), ...(trials.path ? ["path"] : []), ...optional, "ended"];
  const numeric = new Set(["id", "value", "noise", "took", "ended"]);
  const heads = columns.map((name) => el("th", { scope: "col", class: numeric.has(name) ? "number" : null,
    "aria-sort": shownTrials.sort === name ? (shownTrials.down ? "descending" : "ascending") : "none" },
  el("button", { type: "button", text: name.replace(OF_USER, "") + (shownTrials.sort === name ? (shownTrials.down ? " ↓" : " ↑") : ""),
    "data-sort": name, onclick: () => {
      if (shownTrials.sort === name) shownTrials.down = !shownTrials.down;
      else Object.assign(shownTrials, { sort: name, down: true });
      drawTable(state);
      document.querySelector(`[data-sort="${CSS.escape(name)}"]`)?.focus();
    } })));
  const best = new Set(snapshot.summary.best?.trials);
  const failures = shownTrials.state === "f";
  const rows = chosen.slice(shownTrials.page * ROWS, (shownTrials.page + 1) * ROWS).map((i) =>
    el("tr", { class: best.has(i) ? "best" : null },
      ...columns.map((name) => cell(state, name, i)),
      failures ? el("td", { class: "reason", text: trials.reason[i] ?? "" }) : null));
  refill($("trial-table"),
    el("thead", {}, el("tr", {}, ...heads, failures ? el("th", { scope: "col", text: "reason" }) : null)),
    el("tbody", {}, ...rows));
  $("trial-count").textContent = chosen.length === state.count
    ? plural(chosen.length, "trial") : `${say(chosen.length)} of ${plural(state.count, "trial")}`;
  $("trial-page").textContent = `page ${say(shownTrials.page + 1)} of ${say(pages)}`;
  $("trial-back").disabled = shownTrials.page === 0;
  $("trial-next").disabled = shownTrials.page >= pages - 1;
}

function cell(state, name, i) {
  const { trials } = state;
  if (name === "id") return el("td", { class: "number", text: String(i) });
  if (name === "state") return el("td", { text: STATES[trials.state[i]], title: trials.reason[i] });
  if (name === "path") return el("td", { text: trials.path[i] });
  if (name === "value" || name === "noise") return el("td", { class: "number" }, number(trials[name][i]));
  if (name === "ended" || name === "took") {
    const seconds = trials[name][i];
    return el("td", { class: "number", text: seconds === null ? "-" : `${say(seconds, 4)} s` });
  }
  return el("td", { text: state.choice(name.replace(OF_USER, "")).text(i) });
}

function makeTable(state) {
  let waiting;
  const search = el("input", { type: "search", id: "trial-filter", "aria-label": "Filter trials",
    placeholder: state.trials.path ? "part of a path, a name, or > 0.5" : "name=value, a word, or > 0.5", oninput: (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        Object.assign(shownTrials, { text: event.target.value, page: 0 });
        drawTable(state);
      }, 120);
    } });
  const states = el("select", { id: "trial-state", "aria-label": "State of the trials", onchange: (event) => {
    Object.assign(shownTrials, { state: event.target.value, page: 0 });
    drawTable(state);
  } }, el("option", { value: "", text: "all" }),
  ...Object.entries(STATES).map(([value, text]) => el("option", { value, text })));
  const turn = (by) => () => { shownTrials.page += by; drawTable(state); };
  body("trials").replaceChildren(
    el("div", { class: "tools" }, search, states, el("span", { id: "trial-count", role: "status" })),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Trials" },
      el("table", { id: "trial-table" })),
    el("div", { class: "tools" },
      el("button", { type: "button", id: "trial-back", text: "back", onclick: turn(-1) }),
      el("span", { id: "trial-page" }),
      el("button", { type: "button", id: "trial-next", text: "next", onclick: turn(1) })));
}
