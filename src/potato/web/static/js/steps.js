// What can be undone on each item that was shown: the answers that each step changed, as they were before it.

import { same } from "./questions.js";

export class Steps {
  #of = new Map(); // item → {steps, current}

  /** An item is shown: `steps` and `answers` as the server has them, `unsent` what it does not have yet. */
  show(item, steps, answers, unsent) {
    this.item = item;
    if (!this.#of.has(item)) {
      this.#of.set(item, { steps: [...steps], current: { ...answers } });
      this.note(unsent);
    }
  }

  /** Answers were given: a step, unless they are what was there. Whether they were one. */
  note(answers) {
    const { steps, current } = this.#here;
    const changed = Object.entries(answers).filter(([name, answer]) => !same(current[name] ?? null, answer));
    if (changed.length) steps.push(Object.fromEntries(changed.map(([name]) => [name, current[name] ?? null])));
    Object.assign(current, answers);
    return changed.length > 0;
  }

  /** Take the last step away: the answers to restore, or undefined when there is none. */
  pop() {
    return this.#here.steps.pop();
  }

  /** Answers were restored; that is no step. */
  restore(answers) {
    Object.assign(this.#here.current, answers);
  }

  /** Whether there is something to undo. */
  get any() {
    return Boolean(this.#here?.steps.length);
  }

  get #here() {
    return this.#of.get(this.item);
  }
}
