// Answers that are chosen among inputs, each of which carries its answer as JSON in `data-answer`.

/** The checked choice's answer. */
export const one = {
  read(question) {
    const chosen = question.querySelector("input:checked");
    return chosen ? JSON.parse(chosen.dataset.answer) : null;
  },
  write(question, answer) {
    for (const input of inputs(question)) input.checked = answer !== null && same(JSON.parse(input.dataset.answer), answer);
  },
  touched,
};

/** The list of the checked choices' answers; the choice "none of these" stands for the empty list. */
export const many = {
  read(question) {
    const chosen = inputs(question).filter((input) => input.checked);
    if (!chosen.length) return null;
    return chosen.filter((input) => !("none" in input.dataset)).map((input) => JSON.parse(input.dataset.answer));
  },
  write(question, answer) {
    const parts = Array.isArray(answer) ? answer : null; // an undo may bring back what the question does not take any more
    for (const input of inputs(question)) {
      input.checked = parts !== null && ("none" in input.dataset ? !parts.length : parts.some((part) => same(JSON.parse(input.dataset.answer), part)));
    }
  },
  // "None of these" and a label exclude each other: the one just chosen stays.
  changed(question, input) {
    if (!input.checked) return;
    for (const other of inputs(question)) {
      if (("none" in other.dataset) !== ("none" in input.dataset)) other.checked = false;
    }
  },
  touched,
};

function touched(question) {
  return inputs(question).filter((input) => input.checked !== input.defaultChecked);
}

const inputs = (question) => [...question.querySelectorAll("input[data-answer]")];

const same = (one_, other) => JSON.stringify(one_) === JSON.stringify(other);
