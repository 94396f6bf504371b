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
  #writing = Promise.resolve();

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
    return this.#writing;
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

  /** The drafts that the local storage has forgotten, or never took. */
  async forgotten() {
    const database = await this.#database;
    if (!database) return [];
    const known = new Set(this.all().map((draft) => draft.key));
    const reading = database.transaction(TABLE).objectStore(TABLE).getAll(IDBKeyRange.bound(this.#prefix, `${this.#prefix}\uffff`));
    const drafts = await new Promise((resolve) => {
      reading.onsuccess = () => resolve(reading.result);
      reading.onerror = () => resolve([]);
    });
    return drafts.filter((draft) => !known.has(draft.key));
  }

  put(draft) {
    try {
      localStorage.setItem(draft.key, JSON.stringify(draft));
      this.#local = true;
    } catch {
      this.#local = false; // no storage, or it is full
    }
    const copy = structuredClone(draft);
    this.#write((table) => table.put(copy));
  }

  remove({ key }) {
    try { localStorage.removeItem(key); } catch { /* there is none */ }
    this.#write((table) => table.delete(key));
  }

  #write(act) {
    this.#writing = this.#database.then(async (database) => { this.#durable = database !== null && (await committed(database, act)); });
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

/** Change the table; whether the change is on the disk. */
function committed(database, act) {
  return new Promise((resolve) => {
    try {
      const changing = database.transaction(TABLE, "readwrite", { durability: "strict" });
      changing.oncomplete = () => resolve(true);
      changing.onabort = () => resolve(false);
      act(changing.objectStore(TABLE));
    } catch {
      resolve(false); // the browser has closed the database, as when somebody clears its data
    }
  });
}
