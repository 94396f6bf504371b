// The buttons that try a webhook: each sends a test event, and shows what became of it.

import { call } from "./training-api.js";
import { focusAgain } from "./training-parts.js";
import { notice } from "./training-words.js";

const LOOK_MS = 500;
const LOOKS = 40;

/** Let the buttons work; `place` shows what is to be said, `refresh` brings the page's list up to date. */
export function webhooks(place, refresh) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-try-webhook]");
    if (!button || button.disabled) return;
    button.disabled = true;
    try {
      place.replaceChildren(said(await outcome(Number(button.dataset.tryWebhook))));
      await refresh();
    } catch (error) {
      place.replaceChildren(notice("bad", error.message, error.hint));
    } finally {
      button.disabled = false;
      focusAgain(`[data-try-webhook="${button.dataset.tryWebhook}"]`);
    }
  });
}

async function outcome(number) {
  const { delivery } = await call("POST", `webhooks/${number}/test`);
  let entry = null;
  for (let look = 0; look < LOOKS && !entry?.attempts; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const all = (await call("GET", "webhooks")).webhooks[number - 1].deliveries;
    entry = all.find((one) => one.id === delivery) ?? entry;
  }
  return entry;
}

function said(entry) {
  if (entry?.state === "delivered") return notice("ok", `The webhook took the test event: it answered ${entry.status}.`);
  if (entry?.error) return notice("bad", `The webhook did not take the test event: ${entry.error}.`, "It is tried again.");
  return notice("info", "The test event is on its way.", "The list below shows what becomes of it.");
}
