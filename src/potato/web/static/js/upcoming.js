// The item that follows the one shown, which came with the answer to it, so that going on waits for nothing.

const FRESH_MS = 60000; // what is older is asked for again: its suggestions may be others by now, or its time may be over

export class Upcoming {
  #kept = null;

  /** `part` follows the item `of`. */
  keep(of, part) {
    this.#kept = { of, part, since: performance.now() };
  }

  /** What follows `item`; undefined where that is to be asked for. */
  of(item) {
    const kept = this.#kept;
    return kept && kept.of === item && performance.now() - kept.since < FRESH_MS ? kept.part : undefined;
  }

  forget() {
    this.#kept = null;
  }
}
