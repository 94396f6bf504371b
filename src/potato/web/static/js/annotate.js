// The annotation page: answers are saved as they change, and the next item comes without loading the page anew.

import { ask } from "./asking.js";
import { openDialog, reasonDialog, signInAgain } from "./dialogs.js";
import { Drafts } from "./drafts.js";
import { keyed, keysOn, pageKey, press, switchKeys } from "./keys.js";
import { beginMedia } from "./media.js";
import * as questions from "./questions.js";
import { answer, changed, complain, focus, hindrance, isTyped, mark, problem, questionOf, questionsOf, read, showAsked, suggestion, taken, touched, write } from "./questions.js";
import { inWords } from "./save-state.js";
import { Steps } from "./steps.js";
import { stopwatch } from "./stopwatch.js";
import { Upcoming } from "./upcoming.js";

const $ = (id) => document.getElementById(id);
const work = () => $("work");
const finished = () => "finished" in work().dataset;

const root = new URL(work().dataset.root, location.href);
const address = (path) => new URL(path, root).href;
const ofItem = (what, item = work().dataset.item) => address(`annotate/${item}${what && "/"}${what}`);
const WAYS = {
  next: () => address("annotate"),
  back: () => (finished() ? address("annotate/last") : ofItem("back")),
  forth: () => (finished() ? address("annotate") : ofItem("forth")),
};
const upcoming = new Upcoming();
const drafts = new Drafts({
  tag: work().dataset.tag,
  annotator: work().dataset.annotator,
  address: (item) => ofItem("answers", item),
  wantsNext: (item) => !document.hidden && item === work().dataset.item && !upcoming.of(item),
  onNext: (item, part) => upcoming.keep(item, part),
  onElsewhere: follow,
  onState: showState,
});
await drafts.recover();
const steps = new Steps();
const inView = stopwatch();
let latest = null; // the question that was answered last: Delete clears it
let handedOver = false;
let going = false; // whether Enter was pressed and its answer is still on the way
let popped = false; // whether the browser went back or forth in its history while an item was on the way

// ---- Answers

document.addEventListener("change", (event) => {
  const question = questionOf(event);
  if (!question) return;
  changed(question, event.target);
  if (problem(question)) complain(question, problem(question));
  save([question]);
});

// What is typed is kept at each letter and sent at each pause; a line shows where it is moved to.
for (const kind of ["input", "compositionend"]) {
  document.addEventListener(kind, (event) => {
    const question = questionOf(event);
    if (!question || event.isComposing || event.target.matches("[type=radio], [type=checkbox]")) return;
    changed(question, event.target);
    if (isTyped(question)) save([question], { later: true });
  });
}

/**
 * Save what `given` questions say, and what their answers make come or go. What is no answer waits on the page, and nothing
 * is stored meanwhile: not what stood there before, nor a part of what is typed.
 */
function save(given, { later = false } = {}) {
  const all = [...given, ...showAsked(work())];
  latest = given[0] ?? latest;
  const answers = Object.fromEntries(all.map((question) => [question.dataset.scheme, answer(question)]));
  if (!steps.note(answers) && given.every(isTyped)) return later ? undefined : drafts.send();
  return keep(answers, { later });
}

function keep(answers, more) {
  going = false;
  showUndo();
  $("item").querySelector("[data-skipped]")?.remove(); // the answer takes that back
  return drafts.add({ item: work().dataset.item, answers, elapsed_ms: inView.read(), shown: work().dataset.shown, ...more });
}

function take(given) {
  const open = given.filter((question) => !question.hidden && suggestion(question) !== undefined);
  if (!open.length) return;
  for (const question of open) write(question, taken(question));
  save(open);
}

function clear(question) {
  if (!question || question.hidden) return;
  write(question, null);
  save([question]);
  focus(question);
}

/** Take the last step back. The model's suggestion is no step: before the first one, there is no answer. */
function undo() {
  if (finished()) return;
  const step = steps.pop();
  if (!step) {
    say("There is nothing left to undo.");
    return;
  }
  for (const question of questionsOf(work())) {
    if (!(question.dataset.scheme in step)) continue;
    write(question, step[question.dataset.scheme]);
    latest = question;
  }
  for (const question of showAsked(work())) step[question.dataset.scheme] = answer(question);
  steps.restore(step);
  keep(step, { undo: true });
}

/** What was answered in another tab is answered here too: both show one item, and the last word counts. */
function follow({ item, answers, undo: undone }) {
  if (finished() || item !== work().dataset.item) return;
  for (const question of questionsOf(work())) {
    const name = question.dataset.scheme;
    if (name in answers && !questions.same(answer(question), answers[name])) write(question, answers[name]);
  }
  showAsked(work());
  if (undone) steps.pop();
  if (undone) steps.restore(answers);
  else steps.note(answers);
  showUndo();
}

function choose(key) {
  const pressed = keyed(work(), key);
  if (!pressed) return false;
  const question = pressed.closest(".question");
  press(pressed);
  question.scrollIntoView({ block: "nearest" });
  return true;
}

// ---- Going from item to item

const actions = {
  next: () => (finished() ? go("forth") : goOn()),
  back: () => leave("back"),
  forth: () => leave("forth"),
  undo,
  clear: () => finished() || clear(document.activeElement?.closest(".question") ?? latest),
  skip,
  flag,
  help: () => openDialog($("help")),
  guidelines: toggleGuidelines,
};

async function goOn() {
  if (isHindered(hindrance(work()))) return;
  going = true;
  setBusy(true);
  const sent = await drafts.send();
  setBusy(false);
  if (sent && going) await go("forth");
}

/** Go to another item, unless something stands here that cannot be kept. */
function leave(way) {
  const open = finished() ? undefined : questionsOf(work()).find((question) => !question.hidden && problem(question));
  if (!isHindered(open && [open, problem(open)])) go(way);
}

/** Go to another item. The one that follows is often here already: it came with the answer. */
function go(way) {
  if (work().ariaBusy === "true") return undefined;
  const part = way === "forth" ? upcoming.of(work().dataset.item) : undefined;
  return part ? show(part) : load(WAYS[way]());
}

function isHindered(hindered) {
  if (!hindered) return false;
  const [question, sentence] = hindered;
  complain(question, sentence);
  question.scrollIntoView({ block: "nearest" });
  focus(question);
  return true;
}

async function skip() {
  if (finished()) return;
  const skipped = await reasonDialog($("skip"), "", async (reason) => {
    await drafts.send(); // an answer that came after the skip would take it back
    return post(ofItem("skip"), { annotator: drafts.annotator, reason });
  });
  if (skipped) await go("next");
}

async function flag() {
  if (finished()) return;
  const { flagged } = $("item").dataset;
  $("flag").querySelector("[data-none]").hidden = flagged === undefined;
  await reasonDialog($("flag"), flagged ?? "", async (reason) => {
    const response = await post(ofItem("flag"), { annotator: drafts.annotator, reason });
    if (response.ok) showFlag(reason);
    return response;
  });
}

function showFlag(reason) {
  const flagged = reason !== null;
  if (flagged) $("item").dataset.flagged = reason;
  else delete $("item").dataset.flagged;
  $("flagged").hidden = !flagged;
  $("flagged").querySelector("[data-reason]").textContent = reason ?? "";
  document.querySelector("[data-action=flag]").ariaPressed = String(flagged);
}

async function post(url, body) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response = await fetch(url, options);
  if (response.status === 401 && (await signIn())) {
    await drafts.send();
    response = await fetch(url, options);
  }
  return response;
}

/** Get an item and put it in this one's place. Whatever is not saved yet goes on being sent meanwhile. */
async function load(url, { push = true } = {}) {
  if (work().ariaBusy === "true") return;
  setBusy(true);
  try {
    let response = await ask(url);
    if (response.status === 401 && (await signIn())) response = await ask(url);
    if (response.ok) show(await response.json(), push);
    else if (response.status === 401) say("Sign in to go on.");
    else say("The server could not show the item. Try again in a moment.");
  } catch {
    if (drafts.waiting.length) showState({ kind: "unsaved", why: "offline" }); // the more important of the two
    else say("No connection: the item could not be loaded. Try again.");
  } finally {
    setBusy(false);
  }
}

/** Show an item as the server sends it: `item` its number, null for none, `title` the page's, `work` the HTML. */
function show({ item, title, work: html, progress }, push = true) {
  if (item === null || finished()) {
    leaveTo(item === null ? address("annotate") : ofItem("", item));
    return;
  }
  const before = work();
  const after = new DOMParser().parseFromString(html, "text/html").getElementById("work");
  if (after.dataset.annotator !== drafts.annotator) { // somebody else has signed in, in another tab
    handOver();
    return;
  }
  const stayed = after.dataset.item === before.dataset.item;
  if (push && !stayed) history.pushState(null, "", ofItem("", item));
  document.title = title;
  if (progress) showProgress(progress);
  before.replaceWith(document.adoptNode(after));
  upcoming.forget();
  begin();
  scrollTo(0, 0);
  $("item").focus({ preventScroll: true });
  if (stayed) say(drafts.waiting.length ? "Your answer is still on its way; go on once it is saved." : "There is no other item yet: answer this one, or skip it.");
}

function leaveTo(url) {
  if (url === location.href) location.reload();
  else location.assign(url);
}

/** Make the page that just came ready: bring back what is not saved yet, and hide what is not asked. */
function begin() {
  const { item, steps: undoable, answers } = work().dataset;
  const kept = drafts.of(item);
  steps.show(item, JSON.parse(undoable), JSON.parse(answers), kept);
  latest = null;
  const early = questionsOf(work()).filter((question) => touched(question).length); // later than any draft
  for (const question of questionsOf(work())) {
    const name = question.dataset.scheme;
    questions.begin(question);
    if (early.includes(question)) for (const input of touched(question)) changed(question, input);
    else if (name in kept) write(question, kept[name]);
    else mark(question);
  }
  if (early.length) save(early);
  showAsked(work());
  showUndo();
  tellGuidelines();
  beginMedia(work());
  inView.reset();
  if (drafts.queue.length) drafts.send();
  else {
    const answered = questionsOf(work()).some((question) => read(question) !== null);
    const at = drafts.savedAt ?? work().dataset.savedAt;
    showState({ kind: answered || at ? "saved" : "none", at });
  }
}

// ---- What the page says

function showState(state) {
  if (["saved", "none"].includes(state.kind) && hasProblem()) state = { ...state, kind: "unsaved", why: "problem" };
  const line = $("save-state");
  line.dataset.state = state.kind;
  const text = inWords(state, drafts.kept);
  if (line.textContent !== text) line.textContent = text;
  if (state.progress) showProgress(state.progress);
  showRefused(state);
  if (state.why === "signed-out") comeBack();
}

const hasProblem = () => !finished() && questionsOf(work()).some((question) => !question.hidden && problem(question));

async function comeBack() {
  if ((await signIn()) && (await drafts.send()) && going) await go("forth");
}

function signIn() {
  return signInAgain($("sign-in-again"), { url: address("sign-in"), annotator: drafts.annotator, onOther: handOver });
}

/** Another annotator has signed in: begin their own page. What this one has not sent waits for them in this browser. */
function handOver() {
  handedOver = drafts.kept;
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
  showUndo();
  if (!busy && popped) showAddressed();
}

/** Show the item that the address names, as after the browser's own Back. */
function showAddressed() {
  popped = work().ariaBusy === "true";
  if (!popped) load(location.href, { push: false });
}

function showUndo() {
  const button = document.querySelector("[data-action=undo]");
  if (button) button.disabled = work().ariaBusy === "true" || !steps.any;
}

function toggleGuidelines() {
  const guidelines = $("guidelines");
  if (!guidelines) return;
  guidelines.hidden = !guidelines.hidden;
  tellGuidelines();
}

/** Say on the item's button whether the guidelines are open: they stay so from item to item. */
function tellGuidelines() {
  const guidelines = $("guidelines");
  if (guidelines) document.querySelector("[data-action=guidelines]").ariaExpanded = String(!guidelines.hidden);
}

// ---- Keys and buttons

const KEYS = {
  Enter: "next", ArrowLeft: "back", ArrowRight: "forth", Delete: "clear",
  "?": "help", "!": "flag", s: "skip", g: "guidelines", z: "undo",
};

document.addEventListener("keydown", (event) => {
  const key = pageKey(event);
  if (key === null || work().ariaBusy === "true") return;
  if (KEYS[key]) {
    event.preventDefault();
    actions[KEYS[key]]();
  } else if (key === "Escape") {
    $("item")?.focus({ preventScroll: true });
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

addEventListener("popstate", showAddressed);
// A page that the browser kept and shows again may be of somebody who has signed out, or older than what was sent since.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
addEventListener("beforeunload", (event) => {
  if ((drafts.waiting.length || hasProblem()) && !handedOver) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return;
  upcoming.forget(); // it may be answered in another tab meanwhile
  if (drafts.waiting.length) drafts.send();
});

if (!finished()) begin();
else if (drafts.queue.length) drafts.send();
document.documentElement.dataset.ready = "";
