// Answers on their way to the server. Each stays in this browser until the server says that it is on disk.
//
// A draft is {key, id, item, annotator, answers, elapsed_ms, shown, undo, attempted, refused, revision}. Its id is made once and sent with every
// attempt, so that an answer which is sent again after a lost reply lands once. Drafts are sent one after another, in order.

import { DraftStore } from "./draft-store.js";

const RETRY_MS = [1000, 2000, 4000, 8000, 15000];
const ATTEMPT_MS = 20000;
const PAUSE_MS = 800; // typing that pauses so long is sent
const OUTLIVES_PAGE = 60000; // bytes; browsers refuse to keep a request of more than 64 KiB alive when its page goes

export class Drafts {
  /**
   * `tag` names the project, `annotator` whose drafts these are; `address(item)` is where an item's answers go,
   * `wantsNext(item)` says whether what follows it is to come with the reply, for `onNext(item, part)`;
   * `onElsewhere(draft)` hears of what this annotator answers in another tab, and `onState(state)` of every change.
   */
  constructor({ tag, annotator, address, wantsNext, onNext, onElsewhere, onState }) {
    this.prefix = `potato:${tag}:draft:`;
    this.annotator = annotator;
    this.address = address;
    this.wantsNext = wantsNext;
    this.onNext = onNext;
    this.onElsewhere = onElsewhere;
    this.onState = onState;
    this.savedAt = null;
    this.retries = 0;
    this.store = new DraftStore(this.prefix);
    this.queue = this.#found(this.store.all());
    this.sending = null;
  }

  /** Find what the browser kept when it was killed. Nothing may be added before. */
  async recover() {
    const found = this.#found(await this.store.forgotten());
    const others = this.queue.filter((draft) => found.every((each) => each.key !== draft.key));
    this.queue = [...found, ...others].sort((one, other) => (one.key < other.key ? -1 : 1));
    addEventListener("online", () => this.send());
    addEventListener("storage", (event) => this.#heard(event));
  }

  /** Whether what waits is in this browser's storage; else it lives in the page, and leaving it warns. */
  get kept() {
    return this.store.keeps;
  }

  /** The drafts that still wait to be sent. */
  get waiting() {
    return this.queue.filter((draft) => !draft.refused);
  }

  /** The drafts that the server did not take; they stay until someone decides. */
  get refused() {
    return this.queue.filter((draft) => draft.refused);
  }

  /** What is not yet on the server of one item's answers, by scheme. */
  of(item) {
    return Object.assign({}, ...this.queue.filter((draft) => draft.item === item).map((draft) => draft.answers));
  }

  /**
   * Keep the answer and send it, `later` when there comes no more for a moment. One that was not yet tried is joined by
   * what follows for the same item.
   */
  add({ item, answers, elapsed_ms, shown, undo = false, later = false }) {
    const last = this.queue.at(-1);
    if (last && last.item === item && last.undo === undo && !last.attempted && !last.refused) {
      Object.assign(last.answers, answers);
      last.elapsed_ms = elapsed_ms;
      this.store.put(last);
    } else {
      const order = `${Math.max(Date.now(), last ? placeOf(last) + 1 : 0)}`.padStart(15, "0"); // a clock may be set back
      const draft = { key: `${this.prefix}${order}:${newId()}`, id: newId(), item, annotator: this.annotator, answers, elapsed_ms, shown, undo };
      this.queue.push(draft);
      this.store.put(draft);
    }
    return later ? this.#whenQuiet() : this.send();
  }

  /** Send what waits. Resolves to true once nothing waits any more, to false when something stands in the way. */
  send() {
    clearTimeout(this.timer);
    this.sending ??= this.#drain().finally(() => { this.sending = null; });
    return this.sending;
  }

  /** Send refused drafts once more. */
  retryRefused() {
    for (const draft of this.refused) { draft.refused = null; this.store.put(draft); }
    return this.send();
  }

  /** Give refused drafts up. */
  dropRefused() {
    for (const draft of this.refused) this.#remove(draft);
    this.#tell();
  }

  /** Another tab has kept, sent or removed a draft. */
  #heard({ key, newValue }) {
    if (!newValue || !key.startsWith(this.prefix)) return;
    const draft = JSON.parse(newValue);
    if (draft.annotator === this.annotator && !draft.attempted) this.onElsewhere(draft);
  }

  #whenQuiet() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), PAUSE_MS);
    if (!this.sending) this.onState({ kind: "waiting" });
    return Promise.resolve(false);
  }

  async #drain() {
    while (this.waiting.length) {
      const draft = this.waiting[0];
      draft.attempted = true;
      this.store.put(draft);
      this.onState({ kind: "saving" });
      const hindrance = await this.#post(draft);
      if (hindrance) {
        await this.store.written;
        this.onState({ kind: "unsaved", ...hindrance });
        if (hindrance.why !== "signed-out") this.#later();
        return false;
      }
      this.retries = 0;
    }
    this.#tell();
    return this.refused.length === 0;
  }

  async #post(draft) {
    const { id: request_id, annotator, answers, elapsed_ms, shown, undo } = draft;
    const next = this.wantsNext(draft.item);
    const sent = new Blob([JSON.stringify({ request_id, annotator, answers, elapsed_ms, shown, undo, next })]);
    let response;
    try {
      response = await fetch(this.address(draft.item), {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: sent,
        keepalive: sent.size < OUTLIVES_PAGE,
        signal: AbortSignal.timeout(ATTEMPT_MS),
      });
    } catch {
      return { why: "offline" };
    }
    const body = await response.json().catch(() => null);
    if (response.status === 401 || body?.code === "other_annotator") return { why: "signed-out" };
    if (response.status === 507) return { why: "full" };
    if (response.status >= 500 || response.status === 429 || body === null) return { why: "server" };
    if (response.ok) {
      this.savedAt = body.saved_at;
      this.progress = body.progress;
      if (body.next) this.onNext(draft.item, body.next);
      this.#remove(draft);
    } else {
      draft.refused = { message: body.error, hint: body.hint ?? "" };
      this.store.put(draft);
    }
    return null;
  }

  #tell() {
    const [refused] = this.refused;
    if (refused) this.onState({ kind: "unsaved", why: "refused", ...refused.refused });
    else this.onState({ kind: "saved", at: this.savedAt, progress: this.progress });
  }

  #later() {
    const wait = RETRY_MS[Math.min(this.retries++, RETRY_MS.length - 1)];
    this.timer = setTimeout(() => this.send(), wait);
  }

  /** This annotator's among `drafts` that a page kept. It may be sending them at this moment, so nothing more joins them. */
  #found(drafts) {
    return drafts.filter((draft) => draft.annotator === this.annotator).map((draft) => ({ ...draft, attempted: true }));
  }

  #remove(draft) {
    this.queue = this.queue.filter((each) => each !== draft);
    this.store.remove(draft);
  }
}

/** Where a draft stands in the order in which they were made. */
const placeOf = ({ key }) => Number(key.split(":").at(-2));

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
