// The form that starts a run: offers only what goes together, says what is missing, starts and checks.

import { call, pageOf } from "./training-api.js";
import { element, notice, plural } from "./training-words.js";

/** Bring the form to life; `onStarted(run_id)` is told of each run that it starts. */
export function runForm(form, onStarted) {
  const find = (name) => form.querySelector(`[data-${name}]`);
  const schemes = [...form.querySelectorAll("input[name=schemas]")];
  const { trainer, backend } = form.elements;

  const chosen = () => schemes.filter((scheme) => scheme.checked);
  const option = () => trainer.selectedOptions[0];

  function update() {
    const kinds = chosen().map((scheme) => scheme.dataset.kind);
    const type = backend.selectedOptions[0]?.dataset.type;
    for (const each of trainer.options) {
      const fits = kinds.every((kind) => each.dataset.kinds.split(" ").includes(kind)) && each.dataset.backends.split(" ").includes(type);
      each.disabled = each.hidden = !fits;
    }
    if (!option() || option().disabled) trainer.value = [...trainer.options].find((each) => !each.disabled)?.value ?? "";
    describe(type);
    gate();
  }

  function describe(type) {
    const info = option()?.dataset;
    find("trainer-note").textContent = info?.summary ?? "No trainer learns these schemes together on this backend.";
    const missing = info && info.installed === "no" && type === "local";
    find("missing").hidden = !missing;
    if (missing) find("missing").replaceChildren("Its packages are missing on this machine. Install: ", element("code", { text: info.install }));
    for (const list of form.querySelectorAll("[data-params-of]")) list.hidden = list.dataset.paramsOf !== trainer.value;
    const count = changed().length;
    find("changed").textContent = count ? `${plural(count, "change")}` : "as they come";
  }

  function gate() {
    const words = reason();
    find("start").disabled = words !== "";
    find("start-note").textContent = words;
  }

  function reason() {
    if (!chosen().length) return "Choose a scheme.";
    if (!option()) return "";
    const needed = Math.max(1, Number(option().dataset.min));
    const short = chosen().find((scheme) => Number(scheme.dataset.labelled) < needed);
    // the server's own words for it: see bundle/enough.py
    return short ? `Not enough labels to train '${short.value}': ${short.dataset.labelled} of ${needed} needed in the training split` : "";
  }

  function changed() {
    return [...form.querySelectorAll(`[data-params-of="${CSS.escape(trainer.value)}"] [data-param]`)].filter(
      (input) => JSON.stringify(value(input)) !== JSON.stringify(JSON.parse(input.dataset.default)),
    );
  }

  form.addEventListener("input", update);
  find("check").addEventListener("click", () => check(find("check"), find("report"), backend.value, trainer.value));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (find("start").disabled) return;
    find("start").disabled = true;
    const params = Object.fromEntries(changed().map((input) => [input.dataset.param, value(input)]));
    const body = { trainer: trainer.value, schemas: chosen().map((scheme) => scheme.value), backend: backend.value, params };
    try {
      const run = await call("POST", "runs", body);
      const link = element("a", { text: `Run ${run.run_id}`, attributes: { href: pageOf(run.run_id) } });
      find("answer").replaceChildren(notice("ok", "The run is in the queue.", link));
      onStarted(run.run_id);
    } catch (error) {
      find("answer").replaceChildren(notice("bad", `${error.message}${error.message.endsWith(".") ? "" : "."} Nothing was started.`, error.hint));
    }
    gate();
  });

  const first = schemes.find((scheme) => !scheme.disabled && Number(scheme.dataset.labelled)) ?? schemes.find((scheme) => !scheme.disabled);
  if (first && !chosen().length) first.checked = true;
  update();
}

/** What an input says in its param's type; text that is no number is sent as it is, and the server says what is wrong. */
function value(input) {
  if (input.dataset.type === "bool") return input.checked;
  const words = input.value.trim();
  if (input.dataset.type === "text") return input.value === "" && JSON.parse(input.dataset.default) === null ? null : input.value;
  if (words === "") return JSON.parse(input.dataset.default);
  return Number.isFinite(Number(words)) ? Number(words) : words;
}

async function check(button, place, backend, trainer) {
  button.disabled = true;
  place.replaceChildren(element("p", { text: `Looking at ${backend} …`, className: "muted" }));
  try {
    const report = await call("POST", `backends/${encodeURIComponent(backend)}/check`, trainer ? { trainer } : {});
    const box = notice(report.ok ? "ok" : "warn", report.ok ? "A run could start there now." : "No run could start there now.");
    box.append(element("pre", { text: report.lines.join("\n"), className: "check-lines" }));
    place.replaceChildren(box);
  } catch (error) {
    place.replaceChildren(notice("bad", error.message, error.hint));
  }
  button.disabled = false;
}
