// Brings the parts of a page up to date that the server renders: fetches the page anew and exchanges what has changed.

import { refresh as refreshTimes } from "./times.js";

const shown = new WeakMap(); // part → the server's markup that it shows
let going = null;
let again = false;

/** Exchange every `[data-part]` of the page for the server's present one. Calls during one are joined to one more. */
export function refreshParts() {
  if (going) {
    again = true;
    return going;
  }
  going = fetchParts().finally(() => {
    going = null;
    if (again) {
      again = false;
      refreshParts();
    }
  });
  return going;
}

/** Give the focus to what `selector` finds where nothing has it: a button loses it while it is disabled, and for good
 *  when its part is exchanged meanwhile. */
export function focusAgain(selector) {
  if (document.activeElement === document.body) document.querySelector(selector)?.focus();
}

async function fetchParts() {
  const response = await fetch(document.location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!response?.ok) return; // what is shown stays; the next change tries again
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const parts = [...document.querySelectorAll("[data-part]")].reverse(); // a part inside another comes first
  for (const part of parts) {
    const fresh = page.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
    const html = fresh?.innerHTML;
    if (!fresh || shown.get(part) === html) continue;
    shown.set(part, html);
    exchange(part, fresh);
  }
  if (page.title) document.title = page.title;
  refreshTimes();
}

function exchange(part, fresh) {
  const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const open = [...part.querySelectorAll("details")].map((each) => each.open);
  const filled = [...part.querySelectorAll("input[id], select[id], textarea[id]")].filter(isFilled);
  keepLive(part, fresh, () => part.replaceChildren(...fresh.childNodes));
  part.querySelectorAll("details").forEach((each, at) => (each.open = open[at] ?? each.open));
  for (const field of filled) refill(part.querySelector(`#${CSS.escape(field.id)}`), field);
  if (focused) part.querySelector(focused)?.focus();
  part.dispatchEvent(new CustomEvent("exchanged", { bubbles: true }));
}

/** Whether somebody has changed a field since the server sent it. */
function isFilled(field) {
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  if (field.matches("select")) return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.value !== field.defaultValue;
}

function refill(field, before) {
  if (field?.type === "checkbox") field.checked = before.checked;
  else if (field) field.value = before.value;
}

/** A run that is followed goes on being followed: its section moves over, curves, log and all. */
function keepLive(part, fresh, replace) {
  const live = part.querySelector("[data-live]");
  const place = live && fresh.querySelector(`[data-live][data-run="${CSS.escape(live.dataset.run)}"]`);
  const log = live?.querySelector("[data-log]");
  const top = log?.scrollTop;
  place?.replaceWith(live);
  replace();
  if (place && log) log.scrollTop = top;
}

function keyOf(active) {
  for (const name of ["data-cancel", "data-withdraw", "data-show", "data-copy", "data-again"]) {
    if (active.hasAttribute(name)) return `[${name}="${CSS.escape(active.getAttribute(name))}"]`;
  }
  if (active.id) return `#${CSS.escape(active.id)}`;
  return active.hasAttribute("href") ? `[href="${CSS.escape(active.getAttribute("href"))}"]` : null;
}
