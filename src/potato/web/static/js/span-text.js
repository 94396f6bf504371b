// The item's text on the page: from a selection, a point or a word to a stretch of it, and back to where it lies.
// A stretch is {start, end} in code points of exactly the text that the server sent.

import { characters, places, words } from "./text-places.js";

export class SpanText {
  #words;
  #characters;

  constructor(element) {
    element.normalize(); // a parser cuts a long text into several nodes
    this.element = element;
    this.text = element.textContent;
    this.places = places(this.text);
    this.isRightToLeft = getComputedStyle(element).direction === "rtl";
  }

  /** The words that one can step through; looked for when somebody wants them, as a long text takes a while. */
  get words() {
    return (this.#words ??= words(this.text));
  }

  /** Where characters begin. */
  get characters() {
    return (this.#characters ??= characters(this.text));
  }

  /** What stands there. */
  read({ start, end }) {
    return this.text.slice(this.places.unit(start), this.places.unit(end));
  }

  /** The stretch from one UTF-16 unit to another. */
  stretch(from, to) {
    return { start: this.places.point(from), end: this.places.point(to) };
  }

  /** The selected stretch, of whole characters and without space at its ends; null when nothing of the text is selected. */
  selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(this.element)) return null;
    const from = this.#unit(range.startContainer, range.startOffset);
    const to = this.#unit(range.endContainer, range.endOffset);
    return this.#trimmed(this.characters.findLast((place) => place <= from), this.characters.find((place) => place >= to));
  }

  /** The place in the text, in UTF-16 units, that is shown at a point of the window; null outside the text. */
  at(x, y) {
    const caret = document.caretPositionFromPoint?.(x, y);
    const range = caret ? null : document.caretRangeFromPoint?.(x, y);
    const node = caret?.offsetNode ?? range?.startContainer;
    if (!node || !this.element.contains(node)) return null;
    return this.#unit(node, caret?.offset ?? range.startOffset);
  }

  /** The number of the word at a point, or null. */
  wordAt(x, y) {
    const unit = this.at(x, y);
    const found = unit === null ? -1 : this.words.findIndex(([start, end]) => start <= unit && unit <= end && this.#covers(start, end, x, y));
    return found === -1 ? null : found;
  }

  /** The rectangles, in the window, that a stretch fills: one for each line and direction. */
  boxes({ start, end }) {
    return merged([...this.#range(this.places.unit(start), this.places.unit(end)).getClientRects()]);
  }

  #covers(start, end, x, y) {
    return [...this.#range(start, end).getClientRects()].some((box) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom);
  }

  #range(from, to) {
    const range = document.createRange();
    const node = this.element.firstChild ?? this.element;
    range.setStart(node, from);
    range.setEnd(node, to);
    return range;
  }

  #unit(node, offset) {
    if (node === this.element.firstChild) return offset;
    const before = document.createRange();
    before.selectNodeContents(this.element);
    const place = before.comparePoint(node, offset);
    if (place < 0) return 0;
    if (place > 0) return this.text.length;
    return offset === 0 ? 0 : this.text.length; // the element itself, before or behind its one node
  }

  #trimmed(from, to) {
    const inside = this.text.slice(from, to);
    if (!inside.trim()) return null;
    const start = from + inside.length - inside.trimStart().length;
    return this.stretch(start, to - (inside.length - inside.trimEnd().length));
  }
}

/** Boxes of one line that touch are one; those without any width, of line ends, are none unless there is no other. */
function merged(boxes) {
  const wide = boxes.filter((box) => box.width > 0.5);
  const lines = [];
  for (const box of wide.length ? wide : boxes.slice(0, 1)) {
    const last = lines.at(-1);
    const touches = last && Math.abs(last.top - box.top) < 2 && box.left <= last.right + 1 && last.left <= box.right + 1;
    if (touches) Object.assign(last, { left: Math.min(last.left, box.left), right: Math.max(last.right, box.right) });
    else lines.push({ left: box.left, right: box.right, top: box.top, bottom: box.bottom });
  }
  return lines;
}
