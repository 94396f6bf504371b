// Where answers wait in this browser until the server has them. What one page writes into the local storage every other
// sees at once, but a browser takes seconds to bring it to the disk: killed meanwhile, or without power, it has forgotten.
// Its database is slower to ask, and on the disk as soon as it says so. So each draft is kept in both.

const NAME = "potato";
const TABLE = "drafts";

export class DraftStore {
  #prefix;
  #database = opened();
  #local = true;
  #durable = true;
  #changes = new Map(); // key → the draft to write, null for one to remove
  #writing = null;

  /** `prefix` is what the keys of these drafts begin with. */
  constructor(prefix) {
    this.#prefix = prefix;
  }

  /** Whether what was put last stays when the page goes; asked once it was `written`. */
  get keeps() {
    return this.#local || this.#durable;
  }

  /** Resolves once what was put and removed so far is on the disk, or could not be brought there. */
  get written() {
    return this.#writing ?? Promise.resolve();
  }

  /** The drafts of all pages, in order, as far as the local storage knows. */
  all() {
    try {
      return Object.keys(localStorage)
        .filter((key) => key.startsWith(this.#prefix))
        .sort()
        .map((key) => ({ ...JSON.parse(localStorage.getItem(key)), key }));
    } catch {
      return []; // no storage in this browser
    }
  }

  /** The drafts that the local storage has forgotten, never took, or has only as they were before. */
  async forgotten() {
    const database = await this.#database;
    if (!database) return [];
    const known = new Map(this.all().map((draft) => [draft.key, draft.revision]));
    const reading = database.transaction(TABLE).objectStore(TABLE).getAll(IDBKeyRange.bound(this.#prefix, `${this.#prefix}\uffff`));
    const drafts = await new Promise((resolve) => {
      reading.onsuccess = () => resolve(reading.result);
      reading.onerror = () => resolve([]);
    });
    return drafts.filter((draft) => draft.revision > (known.get(draft.key) ?? 0));
  }

  put(draft) {
    draft.revision = (draft.revision ?? 0) + 1;
    try {
      localStorage.setItem(draft.key, JSON.stringify(draft));
      this.#local = true;
    } catch {
      this.#local = false; // no storage, or it is full
    }
    this.#write(draft.key, draft);
  }

  remove({ key }) {
    try { localStorage.removeItem(key); } catch { /* there is none */ }
    this.#write(key, null);
  }

  #write(key, draft) {
    this.#changes.set(key, draft);
    this.#writing ??= this.#flush();
  }

  /** Write what has changed, one time after the other: who types fast waits for no disk, and the disk for nobody. */
  async #flush() {
    const database = await this.#database;
    while (this.#changes.size) {
      const changes = [...this.#changes];
      this.#changes.clear();
      this.#durable = database !== null && (await committed(database, changes));
    }
    this.#writing = null;
  }
}

/** The browser's database; null where it has none for this page. */
function opened() {
  return new Promise((resolve) => {
    try {
      const opening = indexedDB.open(NAME, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE, { keyPath: "key" });
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
}

/** Write `changes` into the table, all or none; whether they are on the disk. */
function committed(database, changes) {
  return new Promise((resolve) => {
    try {
      const changing = database.transaction(TABLE, "readwrite", { durability: "strict" });
      changing.oncomplete = () => resolve(true);
      changing.onabort = () => resolve(false);
      const table = changing.objectStore(TABLE);
      for (const [key, draft] of changes) draft ? table.put(draft) : table.delete(key);
    } catch {
      resolve(false); // the browser has closed the database, as when somebody clears its data
    }
  });
}
