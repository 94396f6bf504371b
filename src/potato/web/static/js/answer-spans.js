// A question whose answer is stretches of the text, each with a label: [{start, end, label, text}], offsets in code points.

import { keysOn } from "./keys.js";
import { join, pick, picked, redraw } from "./span-picking.js";

const SHOWN = 500; // UTF-16 units of a mark's text in its line

const shown = new WeakMap(); // question → its Spans

export const spans = {
  begin: (question) => { of(question).render(); },
  read: (question) => of(question).answer(),
  write: (question, answer) => of(question).show(answer),
  changed: (question, target) => { if (target.matches("[data-none]")) of(question).nothing(target.checked); },
  touched: (question) => [...question.querySelectorAll("[data-none]")].filter((none) => none.checked !== none.defaultChecked),
  // Taking the suggestion adds it to what somebody has marked already.
  taken: (question, suggestion) => of(question).with(suggestion),
  focus: (question) => (question.querySelector("[data-cursor]:not([hidden])") ?? document.querySelector("[data-cursor]")).focus(),
};

function of(question) {
  if (!shown.has(question)) shown.set(question, new Spans(question));
  return shown.get(question);
}

/** The spans of one question, and their list. */
class Spans {
  constructor(question) {
    this.question = question;
    this.list = question.querySelector("[data-list]");
    this.none = question.querySelector("[data-none]");
    this.labels = [...question.querySelectorAll("[data-label]")];
    this.order = new Map(this.labels.map((button, number) => [button.dataset.label, number]));
    this.suggested = JSON.parse(question.dataset.suggested ?? "[]");
    this.marked = JSON.parse(this.list.dataset.spans);
    this.chosen = null;
    this.page = join(question, this);
    question.addEventListener("click", (event) => this.#clicked(event));
    question.addEventListener("keydown", (event) => this.#pressed(event));
  }

  answer() {
    if (this.marked.length) return this.marked;
    return this.none.checked ? [] : null;
  }

  show(answer) {
    const spans = Array.isArray(answer) ? answer : null; // an undo may bring back what the question does not take any more
    this.marked = this.#ordered((spans ?? []).filter(({ label }) => this.order.has(label)));
    this.none.checked = spans !== null && !spans.length;
    if (!this.#has(this.chosen)) this.chosen = null;
    this.render();
  }

  /** "Nothing to mark" and marks exclude each other. */
  nothing(checked) {
    if (checked) this.show([]);
  }

  with(more) {
    return this.#ordered([...this.marked, ...more]);
  }

  /** What is to be drawn in the text. */
  marks() {
    const suggested = this.#open().map((span) => this.#mark(span, "suggested"));
    return [...this.marked.map((span) => this.#mark(span, same(span, this.chosen) ? "chosen" : "")), ...suggested];
  }

  /** Choose the shortest mark at a place, or where it is chosen already the next longer one; whether there is one. */
  point(place) {
    const here = this.marked.filter((span) => span.start <= place && place <= span.end).sort((one, other) => length(one) - length(other));
    if (!here.length) return false;
    const next = here[(here.findIndex((span) => same(span, this.chosen)) + 1) % here.length];
    this.#choose(next);
    this.#row(next)?.querySelector("[data-pick]").focus({ preventScroll: true });
    return true;
  }

  render() {
    const all = [...this.marked, ...this.#open()].sort((one, other) => this.#compare(one, other));
    this.list.replaceChildren(...all.map((span) => this.#line(span)));
    this.list.hidden = !all.length;
    redraw();
  }

  // ---- What people do

  #clicked(event) {
    const label = event.target.closest("[data-label]");
    const row = event.target.closest("[data-row]");
    if (label) this.#label(label.dataset.label);
    else if (row && event.target.closest("[data-remove]")) this.#remove(row.span);
    else if (row && event.target.closest("[data-take-one]")) this.#add(row.span);
    else if (row && event.target.closest("[data-pick]")) this.#choose(same(row.span, this.chosen) ? null : row.span);
  }

  #pressed(event) {
    if (event.key !== "Delete" && event.key !== "Backspace") return;
    const row = event.target.closest("[data-row]");
    const picked = this.page.picked;
    const under = event.target.matches("[data-cursor]") && picked && this.marked.find((span) => span.start < picked.end && picked.start < span.end);
    const span = row && !row.classList.contains("suggested") ? row.span : under;
    if (!row && !event.target.matches("[data-cursor]")) return;
    event.preventDefault(); // it takes one mark away, not the whole answer
    event.stopPropagation();
    if (span) this.#remove(span);
  }

  /** Put a label on what is picked; or else on the mark that is chosen, in place of its own. */
  #label(label) {
    const stretch = picked();
    if (stretch) this.#add({ ...stretch, label, text: this.page.text.read(stretch) });
    else if (this.chosen) this.#change(this.chosen, label);
    else this.#complain("Choose a stretch of the text first.");
  }

  #add(span) {
    const row = this.list.contains(document.activeElement);
    this.#set(this.with([span]), `${cut(span.text)}: ${span.label}`);
    pick(null);
    if (row) this.#row(span)?.querySelector("[data-pick]").focus();
  }

  #change(span, label) {
    const changed = { ...span, label };
    this.chosen = changed;
    this.#set(this.#ordered([...this.marked.filter((other) => !same(other, span)), changed]), `${cut(span.text)}: ${label}`);
    this.#row(changed)?.querySelector("[data-pick]").focus();
  }

  #remove(span) {
    const place = [...this.list.children].findIndex((row) => same(row.span, span));
    const inList = this.list.contains(document.activeElement);
    this.#set(this.marked.filter((other) => !same(other, span)), `${cut(span.text)}: removed`);
    if (!inList) return;
    const next = this.list.children[Math.min(place, this.list.children.length - 1)]?.querySelector("button");
    (next ?? this.none).focus();
  }

  #set(marked, said) {
    this.marked = marked;
    this.none.checked = false;
    if (!this.#has(this.chosen)) this.chosen = null;
    this.render();
    this.question.querySelector("[data-span-status]").textContent = said;
    this.question.dispatchEvent(new Event("change", { bubbles: true }));
  }

  #choose(span) {
    this.chosen = span;
    if (span) pick(null);
    this.render();
  }

  #complain(sentence) {
    const line = this.question.querySelector("[data-error]");
    line.textContent = sentence;
    line.hidden = false;
  }

  // ---- Lines and marks

  #line(span) {
    const suggested = !this.#has(span);
    const row = this.question.querySelector(suggested ? "[data-suggested-line]" : "[data-line]").content.firstElementChild.cloneNode(true);
    row.span = span;
    row.classList.add(`hue-${this.#hue(span)}`);
    row.querySelector("[data-name]").textContent = span.label;
    row.querySelector("[data-quote]").textContent = cut(span.text);
    if (suggested) return row;
    const chosen = same(span, this.chosen);
    row.classList.toggle("chosen", chosen);
    row.querySelector("[data-pick]").ariaPressed = String(chosen);
    row.querySelector("[data-remove]").ariaLabel = `Remove ${span.label}: ${cut(span.text)}`;
    return row;
  }

  #row(span) {
    return [...this.list.children].find((row) => same(row.span, span));
  }

  #mark(span, look) {
    const button = this.labels[this.order.get(span.label)];
    return { ...span, hue: this.#hue(span), name: span.label, short: (hasKeys() && button?.dataset.key) || [...span.label][0], look };
  }

  #hue(span) {
    return ((this.order.get(span.label) ?? 0) % 8) + 1;
  }

  /** The suggested spans that are not marked. */
  #open() {
    return this.suggested.filter((span) => !this.#has(span));
  }

  #has(span) {
    return span !== null && this.marked.some((other) => same(other, span));
  }

  #ordered(spans) {
    const apart = spans.filter((span, number) => spans.findIndex((other) => same(other, span)) === number);
    // The keys are in the order in which the server sends them, so that answers can be compared as JSON.
    return apart.sort((one, other) => this.#compare(one, other)).map(({ start, end, label, text }) => ({ end, label, start, text }));
  }

  #compare(one, other) {
    return one.start - other.start || one.end - other.end || this.order.get(one.label) - this.order.get(other.label);
  }
}

const same = (one, other) => other !== null && one !== null && one.start === other.start && one.end === other.end && one.label === other.label;

/** Whether labels show their keys: where there is something to press them with. */
const hasKeys = () => keysOn() && !matchMedia("(hover: none) and (pointer: coarse)").matches;

const length = (span) => span.end - span.start;

/** The beginning of a long text: a line shows no more of it, and a browser takes seconds to lay all of it out. */
const cut = (text) => (text.length > SHOWN ? `${[...text.slice(0, SHOWN)].slice(0, -1).join("")}…` : text);
