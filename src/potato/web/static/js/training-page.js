// The training page: the form, the run that goes, the table of runs.

import { actions } from "./training-actions.js";
import { base, call } from "./training-api.js";
import { runForm } from "./training-form.js";
import { LiveRun } from "./training-live.js";
import { refreshParts } from "./training-parts.js";
import { webhooks } from "./training-webhooks.js";

const POLL_MS = 4000;

const form = document.querySelector("[data-new-run]");
let live = null;
let shape = JSON.stringify(JSON.parse(document.querySelector("[data-shape]").dataset.shape));
let source = null;
let timer = 0;

function follow() {
  const section = document.querySelector("[data-live]");
  if (live?.section === section) return;
  live?.stop();
  live = section ? new LiveRun(section, refreshParts) : null;
  live?.start();
}

/** What of the status changes the page's parts: which run ended last, which go and wait, and their states. */
function take(status) {
  const runs = [status.current, ...status.queue].filter(Boolean);
  const now = JSON.stringify([status.last_ended, ...runs.map((run) => [run.run_id, run.state])]);
  if (now !== shape) refreshParts();
  shape = now;
}

function listen() {
  source?.close();
  clearTimeout(timer);
  if (document.hidden) return;
  source = new EventSource(new URL("stream", base));
  source.addEventListener("status", (event) => take(JSON.parse(event.data)));
  source.onerror = () => {
    source.close();
    timer = setTimeout(poll, POLL_MS);
  };
}

async function poll() {
  try {
    take(await call("GET", "status"));
  } catch {
    // the live part says that the server cannot be reached
  }
  if (!document.hidden) listen();
}

document.addEventListener("exchanged", follow);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    source?.close();
    clearTimeout(timer);
  } else {
    refreshParts().then(listen);
  }
});

runForm(form, refreshParts);
actions(document.querySelector("[data-said]"), refreshParts);
webhooks(document.querySelector("[data-said]"), refreshParts);
follow();
listen();
document.documentElement.dataset.ready = "";
