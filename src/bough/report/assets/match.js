// The page of a match, which is complete without a script: the filter of the games.

const games = [...document.querySelectorAll(".game")];
const get = (id) => document.getElementById(id);

function filter() {
  const result = get("result").value, first = get("first").value, text = get("text").value.trim();
  let count = 0;
  for (const game of games) {
    const { result: ended, first: began, moves } = game.dataset;
    game.hidden = (result && ended !== result) || (first && began !== first) || !moves.startsWith(text);
    count += !game.hidden;
  }
  get("count").textContent = `${count} of ${games.length} games`;
}

// A link to a game opens it, also if the filter has hidden it.
function open() {
  const game = games.find((each) => `#${each.id}` === location.hash);
  if (!game) return;
  game.hidden = false;
  game.open = true;
  game.scrollIntoView();
}

if (games.length) {
  get("filter").hidden = false;
  for (const id of ["result", "first", "text"]) get(id).addEventListener("input", filter);
  window.addEventListener("hashchange", open);
  filter();
  open();
}
