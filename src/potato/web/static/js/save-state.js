// What the page says of where the answers are, in words.

const UNSAVED = {
  offline: (kept) => `Not saved: no connection. ${kept}, sent again by itself.`,
  server: (kept) => `Not saved: the server has trouble. ${kept}, sent again by itself.`,
  full: (kept) => `Not saved: the server's disk is full. ${kept}, sent again by itself. Tell whoever runs the project.`,
  "signed-out": (kept) => `Not saved: your session has ended. ${kept} until you sign in.`,
  refused: () => "Not saved: see above the questions.",
  problem: () => "Not saved: see the question.",
};

const STATES = {
  none: () => "",
  waiting: () => "Not saved yet…",
  saving: () => "Saving…",
  saved: ({ at }) => (at ? `Saved at ${new Date(at).toLocaleTimeString()}` : "Saved"),
  unsaved: ({ why }, kept) => UNSAVED[why](kept ? "Kept in this browser" : "Kept on this page alone, so leave it open"),
};

/** A state of the drafts as a sentence; `kept` says whether what waits is in this browser's storage. */
export const inWords = (state, kept) => STATES[state.kind](state, kept);
