// The form that publishes a run's model: sends it, and shows how far it is until it is there or has failed.

import { call } from "./training-api.js";
import { focusAgain } from "./training-parts.js";
import { notice } from "./training-words.js";

const LOOK_MS = 1000;

/** Let the form work; `place` shows what is to be said, `refresh` brings the page's list up to date. */
export function publishing(place, refresh) {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-publish]");
    if (!form) return;
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const path = `runs/${form.dataset.publish}/publications`;
      const begun = await call("POST", path, wanted(form));
      place.replaceChildren(notice("info", `The model is being sent to ${begun.repo}.`, "This page shows how far it is."));
      await watch(path, begun.id, refresh);
      place.replaceChildren();
    } catch (error) {
      place.replaceChildren(notice("bad", error.message, error.hint));
      place.scrollIntoView({ block: "nearest" });
    } finally {
      button.disabled = false;
      focusAgain("form[data-publish] [name=repo]");
    }
  });
}

function wanted(form) {
  const { repo, scheme } = form.elements;
  const body = { repo: repo.value.trim(), public: form.elements.public.checked };
  return scheme ? { ...body, scheme: scheme.value } : body;
}

async function watch(path, id, refresh) {
  for (;;) {
    await refresh();
    const { publications } = await call("GET", path);
    if (publications.find((entry) => entry.id === id)?.state !== "going") break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  await refresh();
}
