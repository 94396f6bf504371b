// The training API, as the training pages call it.

const root = document.querySelector("[data-training]");

/** The API's address, whatever prefix the server is under. */
export const base = new URL(root.dataset.api, document.baseURI);

/** The address of a run's page. */
export function pageOf(runId) {
  return new URL(`../runs/${encodeURIComponent(runId)}`, base);
}

/** An error that the server answered, or that kept its answer from arriving. */
export class Refused extends Error {
  constructor(message, hint = "", status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** Call the API and give its JSON. Throws `Refused` with a sentence. */
export async function call(method, path, body) {
  const response = await send(method, path, body);
  return response.json();
}

/** A text of the API, and the offset at which it ends. */
export async function text(path) {
  const response = await send("GET", path);
  return { text: await response.text(), next: Number(response.headers.get("X-Next-Offset")) };
}

async function send(method, path, body) {
  const options = { method, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(new URL(path, base), options);
  } catch {
    throw new Refused("The server cannot be reached.", "Nothing was changed. Try again when the connection is back.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  if (response.status === 401) return new Refused("You are signed out.", "Sign in at the admin page again.", 401);
  try {
    const answer = await response.json();
    return new Refused(answer.error, answer.hint ?? "", response.status);
  } catch {
    return new Refused(`The server answered ${response.status}.`, "Its log says why.", response.status);
  }
}
