// Reading and writing the answers of a page's questions. How a question is read is its `data-shape`; another type of
// scheme whose answers have another shape adds an entry to SHAPES.
//
// A shape has read(question) → answer or null, write(question, answer or null), and touched(question) → what differs from
// what the server sent. It may have changed(question, target): set right what a change entails; problem(question): a
// sentence on why what stands there is no answer; begin(question): make a question of a new page ready; focus(question);
// taken(question, suggestion): the answer that taking the suggestion gives, where it is not the suggestion itself;
// and `typed`, when its answers come letter by letter. One without inputs tells of a change by a "change" event.

import { many, one } from "./answer-choices.js";
import { number, slider, text } from "./answer-fields.js";
import { spans } from "./answer-spans.js";
import { isFinding, tellChosen } from "./label-finder.js";

const SHAPES = { one, many, number, slider, text, spans };

const shape = (question) => SHAPES[question.dataset.shape];

/** Every question under `root`. */
export const questionsOf = (root) => [...root.querySelectorAll(".question")];

/** The question that an event changes something of, if any. */
export const questionOf = (event) => (isFinding(event) ? null : (event.target.closest?.(".question") ?? null));

/** The answer that a question shows; null when it has none. */
export const read = (question) => shape(question).read(question);

/** The answer that is saved: that of a question that is not asked is kept on the page alone. */
export const answer = (question) => (question.hidden ? null : read(question));

/** Show `answer`, null for none. */
export function write(question, given) {
  shape(question).write(question, given);
  complain(question, "");
  mark(question);
}

/** Set right what a change of `target` entails in its question. */
export function changed(question, target) {
  shape(question).changed?.(question, target);
  mark(question);
}

/** Make a question of a page that just came ready. */
export const begin = (question) => shape(question).begin?.(question);

/** Whether the question's answers come letter by letter. */
export const isTyped = (question) => shape(question).typed === true;

/** Why what stands there is no answer, as a sentence; empty where it is one, or nothing. */
export const problem = (question) => shape(question).problem?.(question) ?? "";

/** Put the focus where the question is answered. */
export function focus(question) {
  if (shape(question).focus) shape(question).focus(question);
  else question.querySelector("input, textarea, button[data-key]")?.focus();
}

/** The model's suggestion as an answer; undefined when there is none. */
export function suggestion(question) {
  return "suggested" in question.dataset ? JSON.parse(question.dataset.suggested) : undefined;
}

/** The answer that taking the suggestion gives. */
export const taken = (question) => shape(question).taken?.(question, suggestion(question)) ?? suggestion(question);

/** What differs from what the server sent: someone was quicker than the page's script, which heard nothing of it. */
export const touched = (question) => shape(question).touched(question);

/** Say on the question whether its suggestion is taken, and whether there is something to clear. */
export function mark(question) {
  const given = read(question);
  const suggested = suggestion(question);
  question.classList.toggle("taken", suggested !== undefined && given !== null && same(given, suggested));
  question.querySelector("[data-clear]").hidden = given === null && !problem(question);
  if (given !== null) complain(question, "");
  tellChosen(question);
}

/** Show a sentence under the question; none takes it away. */
export function complain(question, sentence) {
  const line = question.querySelector("[data-error]");
  line.textContent = sentence;
  line.hidden = !sentence;
  question.querySelector(".number-field, .text-field")?.setAttribute("aria-invalid", String(Boolean(sentence)));
}

/**
 * Show each question that the answers call for and hide the others. Returns those that came or went just now and hold an
 * answer: it is to be saved, or taken back. What a hidden question holds stays on the page, should it be asked again.
 */
export function showAsked(root) {
  const turned = [];
  const questions = new Map(questionsOf(root).map((question) => [question.dataset.scheme, question]));
  const known = new Map();
  const asked = (question) => {
    if (!known.has(question)) {
      const conditions = Object.entries(JSON.parse(question.dataset.showIf ?? "{}"));
      known.set(question, conditions.every(([other, wanted]) => {
        const of = questions.get(other);
        return of !== undefined && asked(of) && gives(read(of), [wanted].flat());
      }));
    }
    return known.get(question);
  };
  for (const question of questions.values()) {
    const hidden = !asked(question);
    if (hidden !== question.hidden && read(question) !== null) turned.push(question);
    question.hidden = hidden;
  }
  return turned;
}

/** The first question that is asked and stands in the way of going on, and why: `[question, sentence]`, or nothing. */
export function hindrance(root) {
  for (const question of questionsOf(root).filter((each) => !each.hidden)) {
    const sentence = problem(question);
    if (sentence) return [question, sentence];
    if ("required" in question.dataset && read(question) === null) {
      const what = isTyped(question) || question.dataset.shape === "slider" ? "Give" : "Choose";
      return [question, `${what} an answer, or skip this item.`];
    }
  }
  return undefined;
}

export const same = (one_, other) => JSON.stringify(one_) === JSON.stringify(other);

const gives = (given, wanted) => given != null && [given].flat().some((part) => wanted.includes(named(part)));

const named = (part) => String(typeof part === "object" ? part.label : part);
