// Finding a label among many: what is typed leaves the labels that have it in their name or description, and Enter chooses
// the one that is marked. What is chosen stays in view, and is told of beside the field.

const TOLD = 3; // chosen labels that are named

/** Whether an event is of a finder's field: what is typed there is no answer. */
export const isFinding = (event) => event.target.matches?.("[data-find]") ?? false;

/** Say beside the finder, where the question has one, what is chosen. */
export function tellChosen(question) {
  const line = question.querySelector("[data-chosen]");
  if (!line) return;
  const names = labelsOf(question).filter(isChosen).map(nameOf);
  const more = names.length > TOLD ? ` and ${names.length - TOLD} more` : "";
  line.textContent = names.length ? `Chosen: ${names.slice(0, TOLD).join(", ")}${more}` : "";
}

function find(field) {
  const question = field.closest(".question");
  const labels = labelsOf(question);
  const words = plain(field.value).split(/\s+/).filter(Boolean);
  const found = labels.filter((label) => words.every((word) => plain(label.textContent).includes(word)));
  const best = words.length ? bestOf(found, plain(field.value.trim())) : null;
  for (const label of labels) {
    label.hidden = words.length > 0 && !found.includes(label) && !isChosen(label);
    label.classList.toggle("found", label === best);
  }
  question.querySelector("[data-found]").textContent = told(found, labels, best, words);
  return best;
}

function told(found, labels, best, words) {
  if (!words.length) return "";
  if (!best) return `None of ${labels.length} labels has that.`;
  return `${found.length} of ${labels.length}. Enter chooses ${nameOf(best)}.`;
}

/** The label that is named just so, or else one whose name begins so, or else the first. */
function bestOf(found, term) {
  const named = (test) => found.find((label) => test(plain(nameOf(label))));
  return named((name) => name === term) ?? named((name) => name.startsWith(term)) ?? found[0] ?? null;
}

function choose(field, label) {
  clear(field);
  if (label.matches("button")) label.click();
  else if (!isChosen(label)) label.querySelector("input").click();
  goOn(field, label);
}

/** Put the focus where one goes on: at the next words of a text, at the label that was chosen, or here for another. */
function goOn(field, label) {
  if (label.matches("button")) {
    const cursor = field.closest(".question").querySelector("[data-cursor]");
    if (cursor.getClientRects().length) cursor.focus({ preventScroll: true });
    else field.blur(); // a finger goes on in the text, which the keyboard on the screen would cover
  } else {
    label.querySelector("[type=radio]")?.focus({ preventScroll: true });
    label.scrollIntoView({ block: "nearest" });
  }
}

function clear(field) {
  field.value = "";
  find(field);
}

const labelsOf = (question) => [...question.querySelectorAll(".choices > .choice:not(.choice-none)")];
const isChosen = (label) => label.querySelector("input")?.checked ?? false;
const nameOf = (label) => label.querySelector(".choice-text").textContent;
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

document.addEventListener("input", (event) => { if (isFinding(event)) find(event.target); });

// Before the page's own keys: in an empty field they are the page's.
document.addEventListener("keydown", (event) => {
  if (!isFinding(event) || event.isComposing || event.keyCode === 229 || !event.target.value.trim()) return;
  if (event.key === "Escape") clear(event.target);
  else if (event.key === "Enter") {
    const best = find(event.target);
    if (best) choose(event.target, best);
  } else return;
  event.preventDefault();
}, true);
