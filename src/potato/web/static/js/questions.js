// Reading and writing the answers of a page's questions. How a question is read is its `data-shape`; another type of
// scheme whose answers have another shape adds an entry to SHAPES.

const SHAPES = {
  // The checked choice's answer.
  one: {
    read(question) {
      const chosen = question.querySelector("input:checked");
      return chosen ? JSON.parse(chosen.dataset.answer) : null;
    },
    write(question, answer) {
      for (const input of inputs(question)) input.checked = answer !== null && same(JSON.parse(input.dataset.answer), answer);
    },
  },
  // The list of the checked choices' answers; the choice "none of these" stands for the empty list.
  many: {
    read(question) {
      const chosen = inputs(question).filter((input) => input.checked);
      if (!chosen.length) return null;
      return chosen.filter((input) => !("none" in input.dataset)).map((input) => JSON.parse(input.dataset.answer));
    },
    write(question, answer) {
      for (const input of inputs(question)) {
        input.checked = answer !== null && ("none" in input.dataset ? !answer.length : answer.some((part) => same(JSON.parse(input.dataset.answer), part)));
      }
    },
    // "None of these" and a label exclude each other: the one just chosen stays.
    changed(question, input) {
      if (!input.checked) return;
      for (const other of inputs(question)) {
        if (("none" in other.dataset) !== ("none" in input.dataset)) other.checked = false;
      }
    },
  },
};

/** Every question under `root`. */
export const questionsOf = (root) => [...root.querySelectorAll(".question")];

/** The answer that a question shows; null when it has none. */
export const read = (question) => SHAPES[question.dataset.shape].read(question);

/** Show `answer`, null for none. */
export function write(question, answer) {
  SHAPES[question.dataset.shape].write(question, answer);
  mark(question);
}

/** Set right what a change of `input` entails in its question. */
export function changed(question, input) {
  SHAPES[question.dataset.shape].changed?.(question, input);
  mark(question);
}

/** The model's suggestion as an answer; undefined when there is none. */
export function suggestion(question) {
  return "suggested" in question.dataset ? JSON.parse(question.dataset.suggested) : undefined;
}

/**
 * The inputs that differ from what the server sent: someone was quicker than the page's script, which heard nothing of it.
 */
export function touched(question) {
  return inputs(question).filter((input) =>
    ["radio", "checkbox"].includes(input.type) ? input.checked !== input.defaultChecked : input.value !== input.defaultValue,
  );
}

/** Say on the question whether its suggestion is taken, and whether there is something to clear. */
export function mark(question) {
  const answer = read(question);
  const suggested = suggestion(question);
  question.classList.toggle("taken", suggested !== undefined && answer !== null && same(answer, suggested));
  const clear = question.querySelector("[data-clear]");
  if (clear) clear.hidden = answer === null;
  if (answer !== null) complain(question, "");
}

/** Show a sentence under the question; none takes it away. */
export function complain(question, sentence) {
  const line = question.querySelector("[data-error]");
  line.textContent = sentence;
  line.hidden = !sentence;
}

/**
 * Show each question whose `show_if` the answers fulfil and hide the others. Returns those that were hidden just now and
 * had an answer: it is taken from them.
 */
export function showAsked(root) {
  const emptied = [];
  const answers = {};
  for (const question of questionsOf(root)) {
    const conditions = JSON.parse(question.dataset.showIf ?? "{}");
    const asked = Object.entries(conditions).every(([other, wanted]) => gives(answers[other], [wanted].flat()));
    question.hidden = !asked;
    if (!asked && read(question) !== null) {
      write(question, null);
      emptied.push(question);
    }
    answers[question.dataset.scheme] = read(question);
  }
  return emptied;
}

/** The first question that is asked, required and not answered. */
export function missing(root) {
  return questionsOf(root).find((question) => !question.hidden && "required" in question.dataset && read(question) === null);
}

const inputs = (question) => [...question.querySelectorAll("input[data-answer]")];

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const gives = (answer, wanted) => answer != null && [answer].flat().some((part) => wanted.includes(String(part)));
