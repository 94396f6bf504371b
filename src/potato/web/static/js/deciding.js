// The adjudicator's own answer to one question about one item. It is sent when they decide; then the list comes back.

import { keyed, pageKey, press } from "./keys.js";
import { beginMedia } from "./media.js";
import { begin, changed, complain, focus, mark, problem, questionOf, questionsOf, read, same, write } from "./questions.js";

const work = document.getElementById("work");
const [question] = questionsOf(work);
const before = read(question); // what was decided so far
let sending = false;
let left = false; // whether the decision was taken, and the page is on its way to the list

const address = (name) => new URL(work.dataset[name], location.href);
const isOpen = () => !left && (Boolean(problem(question)) || !same(read(question), before));

// ---- The answer

for (const kind of ["change", "input"]) {
  document.addEventListener(kind, (event) => {
    if (questionOf(event) !== question || event.isComposing) return;
    if (kind === "input" && event.target.matches("[type=radio], [type=checkbox]")) return; // a change follows
    changed(question, event.target);
    if (kind === "change" && problem(question)) complain(question, problem(question));
    showOpen();
  });
}

function show(answer) {
  write(question, answer);
  showOpen();
}

async function decide() {
  if (sending) return;
  const answer = read(question);
  const hindrance = problem(question) || (answer === null && "Give an answer first.");
  if (hindrance) {
    complain(question, hindrance);
    focus(question);
    return;
  }
  sending = true;
  say("Saving…");
  const told = await send(answer);
  sending = false;
  if (told) say(told, "unsaved");
}

/** Send the decision and go back to the list; or what stands in the way, in words. */
async function send(answer) {
  const { scheme, item } = work.dataset;
  const body = new URLSearchParams({ scheme, item, answer: JSON.stringify(answer) });
  try {
    const response = await fetch(address("decide"), { method: "POST", body, headers: { Accept: "application/json" } });
    if (!response.ok) {
      const { error, hint } = await response.json();
      return [`Not decided: ${error}.`, hint].filter(Boolean).join(" ");
    }
  } catch {
    return "Not decided: no connection. Your answer stands here; press Decide again.";
  }
  left = true;
  location.assign(address("list"));
  return "";
}

// ---- What the page says

function showOpen() {
  if (isOpen()) say("Not decided yet", "unsaved");
  else say("");
}

function say(sentence, state = "none") {
  const line = document.getElementById("save-state");
  line.dataset.state = state;
  line.textContent = sentence;
}

// ---- Keys and buttons

document.addEventListener("keydown", (event) => {
  const key = pageKey(event);
  if (key === null) return;
  if (key === "Enter") decide();
  else if (key === "Delete") show(null);
  else if (key === "Escape") document.getElementById("item").focus({ preventScroll: true });
  else if (keyed(work, key)) press(keyed(work, key));
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const target = event.target.closest?.("[data-action], [data-begin], [data-clear]");
  if (!target) return;
  if ("begin" in target.dataset) { show(JSON.parse(target.dataset.begin)); focus(question); }
  else if ("clear" in target.dataset) show(null);
  else decide();
});

addEventListener("beforeunload", (event) => { if (isOpen()) event.preventDefault(); });

beginMedia(work);
begin(question);
mark(question);
document.documentElement.dataset.ready = "";
