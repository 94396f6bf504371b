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
      const asked = wanted(form);
      const begun = await call("POST", path, asked);
      place.replaceChildren(notice("info", `The model is being sent to ${begun.repo}.`, "This page shows how far it is."));
      const ended = await watch(path, begun.id, refresh);
      if (ended?.state === "failed") fill(asked); // the form has come anew: what to mend stands in it
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

function fill({ repo, public: everybody, scheme }) {
  const fields = document.querySelector("form[data-publish]")?.elements;
  if (!fields) return;
  fields.repo.value = repo;
  fields.public.checked = everybody;
  if (scheme && fields.scheme) fields.scheme.value = scheme;
}

/** Until the push has ended; how it stands then. */
async function watch(path, id, refresh) {
  for (;;) {
    await refresh();
    const { publications } = await call("GET", path);
    const entry = publications.find((each) => each.id === id);
    if (entry?.state !== "going") {
      await refresh();
      return entry;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
