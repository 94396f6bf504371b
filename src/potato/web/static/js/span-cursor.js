// Choosing a stretch of the text without a mouse: arrows go from word to word, with Shift they stretch what is chosen by
// words, with Alt by characters.

const KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

export class Cursor {
  /** `onMove(stretch)` hears of every step. */
  constructor(text, onMove) {
    this.text = text;
    this.onMove = onMove;
    this.from = 0; // both in UTF-16 units
    this.to = 0;
  }

  /** Stand on the stretch, or where nothing is chosen on the first word. */
  enter(stretch) {
    const { unit } = this.text.places;
    if (stretch) this.#choose(unit(stretch.start), unit(stretch.end));
    else if (this.to > this.from) this.#choose(this.from, this.to);
    else this.#word(0);
  }

  /** Act on a key; whether it was one of the cursor's. */
  press(event) {
    if (!KEYS.has(event.key) || event.ctrlKey || event.metaKey) return false;
    const forth = this.#isForth(event.key);
    if (event.altKey && event.shiftKey) this.#character("from", forth);
    else if (event.altKey) this.#character("to", forth);
    else if (event.shiftKey) this.#stretch(event.key, forth);
    else this.#step(event.key, forth);
    return true;
  }

  #isForth(key) {
    if (key === "ArrowLeft") return this.text.isRightToLeft;
    if (key === "ArrowRight") return !this.text.isRightToLeft;
    return key === "ArrowDown" || key === "End";
  }

  #step(key, forth) {
    const { words } = this.text;
    if (key === "Home") this.#word(0);
    else if (key === "End") this.#word(words.length - 1);
    else if (key === "ArrowUp" || key === "ArrowDown") this.#word(this.#onNextLine(forth));
    else this.#word(forth ? this.#after(this.to) : this.#before(this.from));
  }

  #stretch(key, forth) {
    const { words } = this.text;
    if (key === "Home") this.#choose(words[0][0], this.to);
    else if (key === "End") this.#choose(this.from, words.at(-1)[1]);
    else if (key === "ArrowUp" || key === "ArrowDown") this.#choose(this.from, Math.max(words[this.#onNextLine(forth)][1], this.#first()[1]));
    else if (forth) this.#choose(this.from, words[this.#after(this.to)][1]);
    else this.#choose(this.from, Math.max(words[this.#before(this.#last()[0])][1], this.#first()[1]));
  }

  #character(side, forth) {
    const { characters } = this.text;
    const here = this[side];
    const next = forth ? characters.find((place) => place > here) : characters.findLast((place) => place < here);
    if (next === undefined) return;
    if (side === "from" ? next < this.to : next > this.from) this.#choose(side === "from" ? next : this.from, side === "to" ? next : this.to);
  }

  /** The word that what is chosen begins in, and the one it ends in. */
  #first() { return this.text.words.find(([, end]) => end > this.from) ?? this.text.words.at(-1); }
  #last() { return this.text.words.findLast(([start]) => start < this.to) ?? this.text.words[0]; }

  #after(place) {
    const next = this.text.words.findIndex(([start]) => start >= place);
    return next === -1 ? this.text.words.length - 1 : next;
  }

  #before(place) {
    return Math.max(0, this.text.words.findLastIndex(([, end]) => end <= place));
  }

  /** The word of the line below or above that lies nearest. */
  #onNextLine(below) {
    const { words } = this.text;
    const here = this.#box(this.#last());
    let line = null;
    let best = null;
    for (let number = words.indexOf(this.#last()) + (below ? 1 : -1); number in words; number += below ? 1 : -1) {
      const box = this.#box(words[number]);
      if (Math.abs(box.top - here.top) < 2) continue;
      line ??= box.top;
      if (Math.abs(box.top - line) > 2) break; // the line after the next
      const distance = Math.abs(box.left + box.right - here.left - here.right);
      if (!best || distance < best.distance) best = { number, distance };
    }
    return best?.number ?? (below ? words.length - 1 : 0);
  }

  #box([start, end]) {
    return this.text.boxes(this.text.stretch(start, end))[0];
  }

  #word(number) {
    this.#choose(...this.text.words[number]);
  }

  #choose(from, to) {
    this.from = from;
    this.to = to;
    this.onMove(this.text.stretch(from, to));
  }
}
