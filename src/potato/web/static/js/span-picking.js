// What is picked of the item's text, by mouse, finger or keys, until a label is chosen for it; and the drawing of all marks.
//
// A mouse selects as anywhere. A finger taps a word, and another to stretch to it; or selects as its system does. Keys move
// the word cursor. What is picked stays when the browser's own selection goes, as it does when a finger taps a label.

import { Cursor } from "./span-cursor.js";
import { draw, drawPicked } from "./span-layer.js";
import { SpanText } from "./span-text.js";

let page = null; // {text, cursor, picked, questions: Map of question → what it shows}

/** The page's text with what is picked of it; `question` has marks to draw in it, and hears of clicks on them. */
export function join(question, shown) {
  const element = document.querySelector("#item .item-text");
  if (page?.text.element !== element) begin(element);
  page.questions.set(question, shown);
  return page;
}

/** Draw all marks of the page anew, once the browser comes to it; `picked` alone when only that has changed. */
export function redraw({ picked = false } = {}) {
  if (!page) return;
  page.stale ||= !picked;
  if (page.drawing) return;
  page.drawing = true;
  requestAnimationFrame(drawNow);
}

/** Pick a stretch, null for none; `quiet` leaves the browser's own selection as it is. */
export function pick(stretch, { quiet = false } = {}) {
  if (!page) return;
  page.picked = stretch;
  if (!quiet) getSelection().removeAllRanges();
  bringLabels(stretch !== null && !labelsBeside());
  redraw({ picked: true });
}

/** Have the labels lie over the foot of the window, those of several questions one above the other; or where they were. */
function bringLabels(here) {
  if (document.body.classList.contains("picking") === here) return;
  document.body.classList.toggle("picking", here);
  let below = 0;
  for (const labels of [...document.querySelectorAll(".question:not([hidden]) .span-labels")].reverse()) {
    labels.style.setProperty("--below", `${below}px`);
    if (here) below += labels.offsetHeight;
  }
}

/** Whether the labels are seen as long as the text is: they stand beside it, and not below. */
function labelsBeside() {
  const text = page.text.element.getBoundingClientRect();
  return [...page.questions.keys()].some((question) => {
    const box = question.getBoundingClientRect();
    return !question.hidden && (box.left >= text.right || box.right <= text.left);
  });
}

/** What is picked at this moment. Of a selection the browser tells only later, when a key may have followed already. */
export function picked() {
  const selected = present() && page.text.selected();
  if (selected) pick(selected, { quiet: true });
  return page.picked;
}

function begin(element) {
  if (page) page.watcher.disconnect();
  else listen();
  const text = new SpanText(element);
  const cursor = new Cursor(text, (stretch) => { pick(stretch); follow(); tell(); });
  page = { text, cursor, picked: null, questions: new Map(), watcher: watch(element), drawing: false, stale: true };
  document.body.classList.remove("picking");
}

/** Marks lie where the text lies: draw them again when it moves, and when a question comes or goes. */
function watch(element) {
  const sizes = new ResizeObserver(() => redraw());
  sizes.observe(element);
  const hidden = new MutationObserver(() => redraw());
  hidden.observe(document.getElementById("work"), { attributes: true, attributeFilter: ["hidden"], subtree: true });
  document.fonts.ready.then(() => redraw());
  return { disconnect: () => { sizes.disconnect(); hidden.disconnect(); } };
}

function drawNow() {
  page.drawing = false;
  if (!page.text.element.isConnected) return;
  if (page.stale) {
    page.stale = false;
    const marks = [...page.questions].filter(([question]) => !question.hidden).flatMap(([, shown]) => shown.marks());
    draw(page.text, marks.sort(inOrder));
  }
  drawPicked(page.text, page.picked);
}

const inOrder = (one, other) => one.start - other.start || other.end - one.end;

/** Keep what the cursor stands on in view. */
function follow() {
  const [box] = page.text.boxes(page.picked);
  const bar = document.querySelector(".bar")?.getBoundingClientRect().top ?? innerHeight;
  const labels = document.querySelector(".span-labels")?.getBoundingClientRect();
  const floor = labels && labels.top > box.top && labels.bottom > bar - 80 && labels.left < box.right ? Math.min(bar, labels.top) : bar;
  if (box.bottom + 40 > floor) scrollBy(0, box.bottom + 40 - floor);
  else if (box.top < 16) scrollBy(0, box.top - 16);
}

/** Say what is picked to those who do not see it. */
function tell() {
  for (const line of document.querySelectorAll("[data-span-status]")) line.textContent = page.text.read(page.picked);
}

function listen() {
  let pointer = "mouse";
  document.addEventListener("pointerdown", (event) => { pointer = event.pointerType; }, true);
  document.addEventListener("selectionchange", () => {
    const stretch = present() && page.text.selected();
    if (stretch) pick(stretch, { quiet: true });
  });
  document.addEventListener("click", (event) => {
    if (!present() || !page.text.element.contains(event.target)) return;
    if (page.text.selected()) return; // the end of a drag
    if (pointer === "mouse") clicked(event);
    else tapped(event);
  });
  document.addEventListener("keydown", (event) => {
    if (!present() || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && page.picked) { event.preventDefault(); leave(); }
  });
  for (const kind of ["focusin", "focusout", "keydown"]) document.addEventListener(kind, onCursor, true);
}

const present = () => page !== null && page.text.element.isConnected;

/** A click into the text: on a mark it chooses the mark, elsewhere it lets go of what is picked. */
function clicked(event) {
  pick(null);
  const unit = page.text.at(event.clientX, event.clientY);
  if (unit !== null) for (const [question, shown] of page.questions) if (!question.hidden && shown.point(page.text.places.point(unit))) return;
}

function tapped(event) {
  const number = page.text.wordAt(event.clientX, event.clientY);
  if (number === null) return pick(null);
  const word = page.text.stretch(...page.text.words[number]);
  const { picked } = page;
  if (picked && picked.start <= word.start && word.end <= picked.end) return clicked(event);
  pick(picked ? { start: Math.min(picked.start, word.start), end: Math.max(picked.end, word.end) } : word);
}

function leave() {
  pick(null);
  if (document.activeElement?.matches("[data-cursor]")) document.getElementById("item").focus({ preventScroll: true });
}

/** The word cursor is where the focus is; its keys are its own as long as it has it. */
function onCursor(event) {
  if (!present() || !event.target.matches?.("[data-cursor]")) return;
  if (event.type === "focusin") {
    page.text.element.classList.add("has-cursor");
    page.cursor.enter(page.picked);
  } else if (event.type === "focusout") page.text.element.classList.remove("has-cursor");
  else if (page.cursor.press(event)) event.preventDefault();
}
