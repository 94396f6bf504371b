// The annotation page: answers are saved as they change, and the next item comes without loading the page anew.

import { openDialog, signInAgain, skipDialog } from "./dialogs.js";
import { Drafts } from "./drafts.js";
import { keysOn, pageKey, switchKeys } from "./keys.js";
import { changed, complain, mark, missing, questionsOf, read, showAsked, suggestion, touched, write } from "./questions.js";

const $ = (id) => document.getElementById(id);
const work = () => $("work");
const finished = () => "finished" in work().dataset;
const address = (name) => new URL(work().dataset[name], location.href).href;

const root = address("root");
const drafts = new Drafts({
  tag: work().dataset.tag,
  annotator: work().dataset.annotator,
  address: (item) => new URL(`annotate/${item}/answers`, root),
  onState: showState,
});
const inView = stopwatch();
let handedOver = false;
let going = false; // whether Enter was pressed and its answer is still on the way

// ---- Answers

document.addEventListener("change", (event) => {
  const question = event.target.closest?.(".question");
  if (!question) return;
  changed(question, event.target);
  save([question]);
});

function save(questions) {
  const all = [...questions, ...showAsked(work())];
  const answers = Object.fromEntries(all.map((question) => [question.dataset.scheme, read(question)]));
  going = false;
  return drafts.add({
    item: work().dataset.item,
    answers,
    elapsed_ms: inView.read(),
    shown: work().dataset.shown,
  });
}

function take(questions) {
  const open = questions.filter((question) => !question.hidden && suggestion(question) !== undefined);
  if (!open.length) return;
  for (const question of open) write(question, suggestion(question));
  save(open);
}

function clear(question) {
  write(question, null);
  save([question]);
  question.querySelector("input")?.focus();
}

function choose(key) {
  const input = [...work().querySelectorAll("input[data-key]")].find((each) => each.dataset.key === key);
  const question = input?.closest(".question");
  if (!question || question.hidden) return false;
  input.click();
  question.scrollIntoView({ block: "nearest" });
  return true;
}

// ---- Going from item to item

const actions = {
  next: () => (finished() ? load(address("forth")) : goOn()),
  back: () => load(address("back")),
  forth: () => load(address("forth")),
  skip,
  help: () => openDialog($("help")),
  guidelines: toggleGuidelines,
};

async function goOn() {
  const open = missing(work());
  if (open) {
    complain(open, "Choose an answer, or skip this item.");
    open.scrollIntoView({ block: "nearest" });
    open.querySelector("input")?.focus();
    return;
  }
  going = true;
  setBusy(true);
  const sent = await drafts.send();
  setBusy(false);
  if (sent && going) await load(address("forth"));
}

async function skip() {
  if (finished()) return;
  const skipped = await skipDialog($("skip"), (reason) => post(address("skip"), { annotator: drafts.annotator, reason }));
  if (skipped) await load(address("next"));
}

async function post(url, body) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response = await fetch(url, options);
  if (response.status === 401 && (await signIn())) response = await fetch(url, options);
  return response;
}

/** Get a page and put its item in this one's place. Whatever is not saved yet goes on being sent meanwhile. */
async function load(url, { push = true } = {}) {
  if (work().ariaBusy === "true") return;
  setBusy(true);
  try {
    let response = await fetch(url, { headers: { Accept: "text/html" } });
    if (response.status === 401 && (await signIn())) response = await fetch(url, { headers: { Accept: "text/html" } });
    if (response.ok) show(new DOMParser().parseFromString(await response.text(), "text/html"), response.url, push);
    else if (response.status === 401) say("Sign in to go on.");
    else say("The server could not show the item. Try again in a moment.");
  } catch {
    say("No connection: the item could not be loaded. Try again.");
  } finally {
    setBusy(false);
  }
}

function show(page, url, push) {
  const before = work();
  const after = page.getElementById("work");
  if (!after || "finished" in after.dataset || finished()) {
    leaveTo(url);
    return;
  }
  const stayed = after.dataset.item === before.dataset.item;
  if (push && !stayed) history.pushState(null, "", url);
  document.title = page.title;
  $("progress").replaceWith(document.adoptNode(page.getElementById("progress")));
  before.replaceWith(document.adoptNode(after));
  begin();
  scrollTo(0, 0);
  $("item").focus({ preventScroll: true });
  if (stayed) say("There is no other item yet: answer this one, or skip it.");
}

function leaveTo(url) {
  if (url === location.href) location.reload();
  else location.assign(url);
}

/** Make the page that just came ready: bring back what is not saved yet, and hide what is not asked. */
function begin() {
  const kept = drafts.of(work().dataset.item);
  const early = questionsOf(work()).filter((question) => touched(question).length); // later than any draft
  for (const question of questionsOf(work())) {
    const name = question.dataset.scheme;
    if (early.includes(question)) for (const input of touched(question)) changed(question, input);
    else if (name in kept) write(question, kept[name]);
    else mark(question);
  }
  if (early.length) save(early);
  showAsked(work());
  inView.reset();
  if (drafts.queue.length) drafts.send();
  else {
    const answered = questionsOf(work()).some((question) => read(question) !== null);
    showState({ kind: answered || drafts.savedAt ? "saved" : "none", at: drafts.savedAt });
  }
}

// ---- What the page says

function showState(state) {
  const line = $("save-state");
  line.dataset.state = state.kind;
  const text = {
    none: () => "",
    saving: () => "Saving…",
    saved: () => (state.at ? `Saved at ${new Date(state.at).toLocaleTimeString()}` : "Saved"),
    unsaved: () => UNSAVED[state.why],
  }[state.kind]();
  if (line.textContent !== text) line.textContent = text;
  if (state.progress) showProgress(state.progress);
  showRefused(state);
  if (state.why === "signed-out") comeBack();
}

const UNSAVED = {
  offline: "Not saved: no connection. Kept in this browser, sent again by itself.",
  server: "Not saved: the server has trouble. Kept in this browser, sent again by itself.",
  "signed-out": "Not saved: your session has ended. Kept in this browser until you sign in.",
  refused: "Not saved: see above the questions.",
};

async function comeBack() {
  if ((await signIn()) && (await drafts.send()) && going) await load(address("forth"));
}

function signIn() {
  return signInAgain($("sign-in-again"), { url: address("signIn"), annotator: drafts.annotator, onOther: handOver });
}

/** Another annotator has signed in: begin their own page. What this one has not sent waits for them in this browser. */
function handOver() {
  handedOver = true;
  location.assign(root);
}

function showRefused({ why, message, hint }) {
  document.querySelector("#refused")?.remove();
  if (why !== "refused") return;
  const box = $("refused-template").content.firstElementChild.cloneNode(true);
  box.querySelector("[data-what]").textContent = `Not saved: ${message}.`;
  box.querySelector("[data-todo]").textContent = hint;
  work().querySelector(".questions").prepend(box);
}

function showProgress({ done, total_done, total }) {
  const [own, all] = $("progress").querySelectorAll("strong");
  own.textContent = done.toLocaleString("en");
  all.textContent = total_done.toLocaleString("en");
  Object.assign($("progress").querySelector("progress"), { value: total_done, max: total || 1 });
}

function say(sentence) {
  const line = $("save-state");
  line.hidden = false;
  line.dataset.state = "none";
  line.textContent = sentence;
}

function setBusy(busy) {
  work().ariaBusy = String(busy);
  for (const button of document.querySelectorAll("button[data-action]")) button.disabled = busy;
}

function toggleGuidelines() {
  const guidelines = $("guidelines");
  if (!guidelines) return;
  guidelines.hidden = !guidelines.hidden;
  document.querySelector("[data-action=guidelines]").ariaExpanded = String(!guidelines.hidden);
}

/** A clock in milliseconds that runs while the page is in view. */
function stopwatch() {
  let total = 0;
  let since = performance.now();
  const lap = () => {
    if (since !== null) total += performance.now() - since;
    since = document.hidden ? null : performance.now();
  };
  const reset = () => { total = 0; since = document.hidden ? null : performance.now(); };
  document.addEventListener("visibilitychange", lap);
  reset();
  return { reset, read: () => { lap(); return Math.round(total); } };
}

// ---- Keys and buttons

document.addEventListener("keydown", (event) => {
  const key = pageKey(event);
  const action = { Enter: "next", ArrowLeft: "back", ArrowRight: "forth", "?": "help", s: "skip", g: "guidelines" }[key];
  if (key === null || work().ariaBusy === "true") return;
  if (action) {
    event.preventDefault();
    actions[action]();
  } else if (!finished() && key === "a") {
    event.preventDefault();
    take(questionsOf(work()));
  } else if (!finished() && choose(key)) {
    event.preventDefault();
  }
});

document.addEventListener("click", (event) => {
  const target = event.target.closest?.("[data-action], [data-take], [data-clear], [data-refused]");
  if (!target) return;
  const question = target.closest(".question");
  const { action, refused } = target.dataset;
  if (action) { event.preventDefault(); actions[action](); }
  else if ("take" in target.dataset) take([question]);
  else if ("clear" in target.dataset) clear(question);
  else if (refused === "again") drafts.retryRefused();
  else if (refused === "drop") { drafts.dropRefused(); leaveTo(location.href); }
});

$("keys-on").checked = keysOn();
$("keys-on").addEventListener("change", (event) => switchKeys(event.target.checked));
switchKeys(keysOn());

addEventListener("popstate", () => load(location.href, { push: false }));
addEventListener("beforeunload", (event) => { if (drafts.waiting.length && !handedOver) event.preventDefault(); });

if (!finished()) begin();
else if (drafts.queue.length) drafts.send();
document.documentElement.dataset.ready = "";
