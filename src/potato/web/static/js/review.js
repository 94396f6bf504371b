// The review page: a key each for accept, correct and reject. A verdict is sent to the API, and the next pre-label comes
// without loading the page anew.

import { keyed, pageKey, press } from "./keys.js";
import { beginMedia } from "./media.js";
import * as questions from "./questions.js";

const REVIEWER = "potato:reviewer";

const review = () => document.getElementById("review");
const question = () => document.querySelector("#work .question");
const passed = []; // the items that were before the reviewer, the last one last
let busy = false;
let attempt = null; // {body, id}: a verdict that may not have arrived keeps its id, so that it lands once
let shownAt = performance.now();

// ---- Verdicts

const actions = {
  accept: () => judge("accept"),
  reject: () => judge("reject"),
  correct,
  pass: () => goOn(),
  back,
};

/** Send the answer that stands in the question; where there is none yet, let it be chosen. */
function correct() {
  const given = questions.read(question());
  const problem = questions.problem?.(question());
  if (problem) say(problem, "unsaved");
  else if (given === null || questions.same(given, questions.suggestion(question()))) choose();
  else judge("correct", given);
}

function choose() {
  question().classList.add("correcting");
  question().scrollIntoView({ block: "nearest" });
  if (questions.focus) questions.focus(question());
  else question().querySelector("input")?.focus();
  say(isOne() ? "Choose the right answer: it is saved at once." : "Give the right answer, then press Correct.");
}

async function judge(verdict, answer = null) {
  if (busy) return;
  busy = true;
  const { run, scheme, id } = review().dataset;
  say("Saving…");
  try {
    const kept = await send({ run_id: run, scheme, item: id, verdict, answer, reviewer: reviewer() });
    if (!kept) say("Not saved: no connection. Press the key again.", "unsaved");
    else if (kept.ok) say(`${said[verdict]} item ${id}.`, "saved");
    else tell(kept.answer);
    if (kept) attempt = null;
    if (kept?.ok || kept?.status === 409) await goOn();
  } finally {
    busy = false;
  }
}

const said = { accept: "Accepted", correct: "Corrected", reject: "Rejected" };

/** What the server says of the verdict; nothing where it could not be reached. */
async function send(body) {
  const key = JSON.stringify(body);
  if (attempt?.key !== key) attempt = { key, id: newId() };
  const options = {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ ...body, request_id: attempt.id, elapsed_ms: Math.round(performance.now() - shownAt) }),
  };
  try {
    const response = await fetch(new URL(review().dataset.verdicts, document.baseURI), options);
    return { ok: response.ok, status: response.status, answer: await response.json() };
  } catch {
    return null;
  }
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- From one to the next

async function goOn() {
  const { item, scheme } = review().dataset;
  passed.push(item);
  await load({ scheme, after: item });
}

async function back() {
  const before = passed.pop();
  if (before === undefined) say("This is the first one.");
  else await load({ scheme: review().dataset.scheme, item: before });
}

async function load(query) {
  const address = new URL(review().dataset.page, document.baseURI);
  address.search = new URLSearchParams(query);
  const response = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!response?.ok) {
    say("The next one could not be loaded. Load the page again.", "unsaved");
    return;
  }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const name = reviewer();
  const line = document.getElementById("save-state");
  const told = [line?.textContent ?? "", line?.dataset.state ?? ""];
  review().replaceWith(document.adoptNode(page.getElementById("review")));
  const bar = page.querySelector(".bar");
  if (bar && document.querySelector(".bar")) document.querySelector(".bar").replaceWith(document.adoptNode(bar));
  else if (!bar) document.querySelector(".bar")?.remove();
  else document.body.append(document.adoptNode(bar));
  const field = document.querySelector("[data-reviewer]");
  if (field) field.value = name;
  begin();
  say(...told);
  scrollTo(0, 0);
  (document.getElementById("item") ?? document.getElementById("main")).focus({ preventScroll: true });
}

function begin() {
  shownAt = performance.now();
  beginMedia(review());
  if (question()) {
    questions.begin?.(question());
    questions.mark(question());
  }
}

// ---- What the page says

function say(sentence, state = "none") {
  const line = document.getElementById("save-state");
  const place = line ?? document.querySelector("[data-said]");
  if (!place) return;
  place.dataset.state = state;
  place.textContent = sentence;
}

function tell({ error, hint }) {
  say([`${error}.`, hint].filter(Boolean).join(" "), "unsaved");
}

function reviewer() {
  const field = document.querySelector("[data-reviewer]");
  return field?.value.trim() || null;
}

const isOne = () => question()?.dataset.shape === "one";

// ---- Keys and buttons

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-scheme-choice]")) event.target.form.submit();
  if (event.target.matches("[data-reviewer]")) remember(event.target.value.trim());
  const changed = questions.questionOf(event);
  if (!changed) return;
  questions.changed(changed, event.target);
  if (!isOne()) return;
  const given = questions.read(changed);
  judge(questions.same(given, questions.suggestion(changed)) ? "accept" : "correct", given);
});

document.addEventListener("keydown", (event) => {
  const key = pageKey(event);
  if (key === null || key === undefined || !question() || event.target.matches?.("[data-reviewer]")) return;
  const action = { a: "accept", r: "reject", c: "correct", Enter: "correct", ArrowRight: "pass", ArrowLeft: "back" }[key];
  const input = keyed(document.getElementById("work"), key);
  if (!action && !input) return;
  event.preventDefault();
  if (busy) return;
  if (action) actions[action]();
  else if (input.checked && input.type === "radio") correct();
  else press(input);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-action]");
  if (button && actions[button.dataset.action] && !busy) actions[button.dataset.action]();
});

document.addEventListener("submit", (event) => {
  if (event.target.matches(".review-form") && !document.querySelector("[data-scheme-choice]")) event.preventDefault();
});

function remember(name) {
  try { localStorage.setItem(REVIEWER, name); } catch { /* for this page only */ }
}

function remembered() {
  try { return localStorage.getItem(REVIEWER); } catch { return null; }
}

const field = document.querySelector("[data-reviewer]");
if (field && remembered()) field.value = remembered();
begin();
document.documentElement.dataset.ready = "";
