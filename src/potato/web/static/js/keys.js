// Which key was pressed for the page, if any. No key acts while someone types, composes with an input method, holds a key
// down, or has a dialog open, but Escape, which leaves the field, and Enter, in a text of several lines with Ctrl; and
// none but the named ones while single keys are switched off.

const SWITCH = "potato:keys-off";
const NAMED = new Set(["Enter", "ArrowLeft", "ArrowRight", "Delete"]);

/** The key of a keydown event as the page names it, or null when it is not for the page. */
export function pageKey(event) {
  if (event.defaultPrevented || event.repeat || event.isComposing || event.keyCode === 229) return null;
  if (document.querySelector("dialog[open]")) return null;
  if (isTyping(event.target)) return whileTyping(event);
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (NAMED.has(event.key)) return pressesItself(event) ? null : event.key;
  return event.key.length === 1 && event.key !== " " && keysOn() ? event.key.toLowerCase() : null;
}

/** Whether single keys act. Those who dictate or use a switch turn them off. */
export function keysOn() {
  try { return localStorage.getItem(SWITCH) !== "1"; } catch { return true; }
}

/** Switch single keys on or off, in this browser. */
export function switchKeys(on) {
  try { on ? localStorage.removeItem(SWITCH) : localStorage.setItem(SWITCH, "1"); } catch { /* for this page only */ }
  document.body.classList.toggle("keys-off", !on);
}

/** What stands for `key` in the questions that are asked: a label, a button or a field; undefined where nothing does. */
export function keyed(work, key) {
  return [...work.querySelectorAll(".question:not([hidden]) [data-key]")].find((each) => each.dataset.key === key);
}

/** Do what a key does to what stands for it: choose a label, press a button, go into a field. */
export function press(target) {
  if (target.matches("button, [type=radio], [type=checkbox]")) target.click();
  else target.focus();
}

function whileTyping(event) {
  if (event.key === "Escape") return "Escape";
  const severalLines = event.target.matches("textarea") || event.target.isContentEditable;
  return event.key === "Enter" && !event.altKey && (!severalLines || event.ctrlKey || event.metaKey) ? "Enter" : null;
}

function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches("textarea, select")) return true;
  return target.matches("input") && !["radio", "checkbox", "button", "range"].includes(target.type);
}

/** Enter on a button or link presses it, and the arrows move along a line or seek in a recording. */
function pressesItself(event) {
  const own = event.key === "Enter" ? "button, a[href], summary" : "audio, video, input[type=range]";
  return event.target instanceof Element && event.target.closest(own) !== null;
}
