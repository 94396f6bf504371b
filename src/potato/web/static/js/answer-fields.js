// Answers that are given in a field: a number that is typed, one that is chosen on a line, a text.

const field = (question) => question.querySelector("input, textarea");
const touched = (question) => (field(question).value === field(question).defaultValue ? [] : [field(question)]);

/** A number as people type it, with a point or a comma. */
export const number = {
  typed: true,
  read: (question) => parsed(question).value ?? null,
  write(question, answer) { field(question).value = answer === null ? "" : String(answer); },
  problem: (question) => parsed(question).problem ?? "",
  touched,
};

/** A point on a line. One that was never moved or pressed is no answer, wherever it stands. */
export const slider = {
  read: (question) => ("answered" in field(question).dataset ? Number(field(question).value) : null),
  write(question, answer) {
    const line = field(question);
    line.value = String(answer ?? (Number(line.min) + Number(line.max)) / 2);
    line.toggleAttribute("data-answered", answer !== null);
    tell(question);
  },
  changed(question) {
    field(question).toggleAttribute("data-answered", true);
    tell(question);
  },
  begin: tell,
  touched,
};

/** What someone wrote, without the white space around it. */
export const text = {
  typed: true,
  read(question) {
    const said = field(question).value.trim();
    return said && !text.problem(question) ? said : null;
  },
  write(question, answer) { field(question).value = answer ?? ""; },
  problem(question) {
    const said = [...field(question).value.trim()].length; // as the server counts: an emoji is not two
    const { min, max } = field(question).dataset;
    if (said && said < Number(min)) return `That has ${said} of the ${min} characters that are needed.`;
    if (said > Number(max)) return `That has ${said} characters, and ${max} are the most. Shorten it to save it.`;
    return "";
  },
  touched,
};

function tell(question) {
  const line = field(question);
  const answered = "answered" in line.dataset;
  if (answered) line.removeAttribute("aria-valuetext");
  else line.setAttribute("aria-valuetext", "not answered yet");
  question.querySelector("output").textContent = answered ? line.value : "–";
  question.querySelector("[data-untouched]").hidden = answered;
}

/** Answer where the line stands: the browser tells of no change when someone presses just there. */
function answerInPlace(line) {
  if ("answered" in line.dataset) return;
  line.toggleAttribute("data-answered", true);
  line.dispatchEvent(new Event("change", { bubbles: true }));
}

const lineOf = (event) => (event.target.matches?.("input.slider-field") ? event.target : null);

document.addEventListener("pointerup", (event) => {
  const line = lineOf(event);
  if (line) answerInPlace(line);
});

document.addEventListener("keydown", (event) => {
  const line = lineOf(event);
  if (!line || event.key !== " ") return;
  event.preventDefault();
  answerInPlace(line);
});

function parsed(question) {
  const input = field(question);
  const { value, problem } = parseNumber(input.value);
  if (value === undefined) return { problem };
  const misfit = outside(value, input.dataset);
  return misfit ? { problem: misfit } : { value };
}

/** `{}` for nothing, `{value}`, or `{problem}`: a sentence. A comma that could also part thousands is asked about. */
export function parseNumber(typed) {
  const plain = typed
    .trim()
    .replace(/[٠-٩]/g, (digit) => digit.charCodeAt(0) - 0x660)
    .replace(/[۰-۹]/g, (digit) => digit.charCodeAt(0) - 0x6f0)
    .replaceAll("٫", ".")
    .replace(/[−–]/, "-");
  if (!plain) return {};
  if (/^[-+]?\d{1,3}(,\d{3})+$/.test(plain) && !/^[-+]?0/.test(plain)) {
    const [one, other] = [plain.replaceAll(",", ""), plain.replace(",", ".")];
    const meant = plain.split(",").length > 2 ? one : `${one} or ${other}`;
    return { problem: `“${typed.trim()}” can be read in more than one way. Write ${meant}.` };
  }
  const pointed = plain.includes(".") ? plain : plain.replace(",", ".");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?$/i.test(pointed) || !Number.isFinite(Number(pointed))) {
    return { problem: `“${typed.trim()}” is not a number. Write it in digits, like 12 or 3.5.` };
  }
  return { value: Number(pointed) || 0 };
}

function outside(value, { min, max, step }) {
  if (min !== undefined && value < Number(min)) return `That is too small: ${min} is the least.`;
  if (max !== undefined && value > Number(max)) return `That is too large: ${max} is the most.`;
  if (Math.abs(value) > 1e15) return "That number is too large to be kept exactly.";
  if (step === undefined) return "";
  const steps = (value - Number(min ?? 0)) / Number(step);
  if (Math.abs(steps - Math.round(steps)) < 1e-6) return "";
  return Number(step) === 1 ? "Only whole numbers are taken here." : `Only steps of ${step} are taken here${min === undefined ? "" : `, from ${min}`}.`;
}
