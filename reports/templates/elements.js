// The elements of the page. Text of servers and clients reaches the page through text nodes only, with control characters
// made visible.

const CONTROLS = /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\u{e0000}-\u{e007f}]/gu;

const escaped = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;
const visible = (text) => String(text).replace(CONTROLS, escaped);
const visibleLines = (text) =>
  String(text).replace(CONTROLS, (character) => (character === "\n" || character === "\t" ? character : escaped(character)));

// Creates an element. Strings become text nodes; absent children are skipped.
const element = (name, attributes, ...children) => {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== false) created.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== undefined && child !== null) created.append(child instanceof Node ? child : visible(child));
  }
  return created;
};

const byId = (id) => document.getElementById(id);

const SIGNS = { skipped: "–", passed: "✓", noted: "i", warned: "!", flaky: "~", blocked: "⊘", failed: "✗" };
const badge = (verdict, text) =>
  element("span", { class: `badge ${verdict}` }, element("span", { "aria-hidden": "true" }, SIGNS[verdict]), ` ${text || verdict}`);
const duration = (ms) => (ms < 1000 ? `${ms} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.floor((ms % 60000) / 1000)} s`);
