// Elements and numbers. Nothing here, or anywhere, makes markup of a string: text is only ever text.

const $ = (id) => document.getElementById(id);

// A text with escapes for what is no sign to be read: some would turn the direction of all that follows.
const visible = (text) => String(text).replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu,
  (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "text") made.textContent = visible(value);
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function body(section) {
  return document.querySelector(`#${section} > .body`);
}

// Replace what stands in an element; whoever was at one of its buttons still is.
function refill(place, ...parts) {
  const at = [...place.querySelectorAll("button")].indexOf(document.activeElement);
  place.replaceChildren(...parts.filter(Boolean));
  if (at >= 0) place.querySelectorAll("button")[at]?.focus({ preventScroll: true });
}

// A number for people: six digits, thousands apart. The full one is in the title of its element.
function say(value, digits = 6) {
  if (value === null || value === undefined) return "-";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

function number(value, digits) {
  return el("span", { text: say(value, digits), title: value, "data-value": value });
}

// A text with numbers in it, each with four digits.
const rounded = (text) => text.replace(/\d+\.\d{4,}(e[-+]?\d+)?/g, (found) => say(Number(found), 4));

const times = (count) => (count === 1 ? "once" : `${say(count)} times`);
const plural = (count, word) => `${say(count)} ${word}${count === 1 ? "" : "s"}`;

// Plotly reads some markup in its texts: what comes from the user is to be shown as it is.
function plain(text) {
  return visible(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

// The same, short enough to stand beside an axis.
const brief = (text) => plain(text.length > 32 ? `${text.slice(0, 31)}…` : text);

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
