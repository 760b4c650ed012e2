// Elements and numbers. No script on this page turns a string into markup.

const $ = (id) => document.getElementById(id);

// A text with escapes for control characters, some of which would reverse the direction of writing.
const visible = (text) => String(text).replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

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

// Replace the content of an element, and keep the focus on the same button.
function refill(place, ...parts) {
  const at = [...place.querySelectorAll("button")].indexOf(document.activeElement);
  place.replaceChildren(...parts.filter(Boolean));
  if (at >= 0) place.querySelectorAll("button")[at]?.focus({ preventScroll: true });
}

// A number with six digits and separated thousands. The title of its element has all digits.
function say(value, digits = 6) {
  if (value === null || value === undefined) return "-";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

function number(value, digits) {
  return el("span", { text: say(value, digits), title: value, "data-value": value });
}

// A text with its numbers rounded to four digits.
const rounded = (text) => text.replace(/\d+\.\d{4,}(e[-+]?\d+)?/g, (found) => say(Number(found), 4));

const times = (count) => (count === 1 ? "once" : `${say(count)} times`);
const plural = (count, word) => `${say(count)} ${word}${count === 1 ? "" : "s"}`;

// Escape the markup that plotly interprets in texts.
function plain(text) {
  return visible(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

// The same, short enough for the label of an axis.
const brief = (text) => plain(text.length > 32 ? `${text.slice(0, 31)}…` : text);

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
