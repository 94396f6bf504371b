// The buttons that change a run, wherever they stand on the training pages.

import { call, pageOf } from "./training-api.js";
import { notice, plural } from "./training-words.js";

const BUTTONS = "[data-cancel], [data-withdraw], [data-show], [data-copy], [data-again], [data-curve]";

/** Let the buttons that `BUTTONS` names work; `place` shows what is to be said, `onDone` follows. */
export function actions(place, onDone) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(BUTTONS);
    if (!button || button.disabled) return;
    button.disabled = true;
    try {
      await act(button, place);
      await onDone();
    } catch (error) {
      place.replaceChildren(notice("bad", error.message, error.hint));
    } finally {
      button.disabled = false;
    }
  });
}

async function act(button, place) {
  const { cancel, withdraw, show, copy, again, curve } = button.dataset;
  if (cancel !== undefined) {
    await call("POST", `runs/${cancel}/cancel`);
    place.replaceChildren(notice("info", "The run is being cancelled.", "Its log and events stay on its page."));
  } else if (withdraw !== undefined) {
    if (!confirm("Withdraw this run's suggestions? Annotators will no longer see them; labels stay as they are.")) return;
    const answer = await call("DELETE", `runs/${withdraw}/predictions`);
    place.replaceChildren(notice("ok", `${answer.withdrawn.toLocaleString("en-US")} suggestions were withdrawn.`));
  } else if (show !== undefined) {
    if (!confirm("Show this run's suggestions to annotators, in place of those that they see now? It is recorded.")) return;
    const run = await call("POST", `runs/${show}/show`);
    place.replaceChildren(notice("ok", `${run.live_prelabels.toLocaleString("en-US")} suggestions are shown now.`));
  } else if (copy !== undefined) {
    await watchCopy(await call("POST", `runs/${copy}/copy`), place);
  } else if (curve !== undefined) {
    const { runs } = await call("POST", `runs/${curve}/learning-curve`);
    const words = `${plural(runs.length, "run")} of the learning curve ${runs.length === 1 ? "is" : "are"} in the queue.`;
    place.replaceChildren(notice("ok", words, "The curve is drawn here as they end."));
  } else {
    const { run_id } = await call("POST", "runs", JSON.parse(again));
    document.location.assign(pageOf(run_id));
  }
}

/** Show how far the copy of a run's model is, until it has ended; the page's own warnings then tell how. */
async function watchCopy(run, place) {
  while (run.step) {
    place.replaceChildren(notice("info", run.step));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    run = await call("GET", `runs/${run.run_id}`);
  }
  place.replaceChildren();
}
