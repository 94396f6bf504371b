// The dialogs of the annotation page, each as a promise of what came of it.

/** Open a dialog; resolves when it is closed. */
export function openDialog(dialog) {
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
}

/**
 * Ask for a reason, which is `given` so far, and `send(reason)` it; a button with `data-none` sends null. Resolves to
 * whether it was sent.
 */
export async function reasonDialog(dialog, given, send) {
  const reason = dialog.querySelector("textarea");
  reason.value = given;
  return submitted(dialog, async (button) => {
    const response = await send(button && "none" in button.dataset ? null : reason.value);
    if (response.ok) return true;
    throw new Error((await response.json()).error);
  });
}

let signingIn = null;

/** Sign in without leaving the page. Resolves to true once `annotator` is signed in; `onOther` hears of another name. */
export function signInAgain(dialog, { url, annotator, onOther }) {
  signingIn ??= signIn(dialog, url, annotator, onOther).finally(() => { signingIn = null; });
  return signingIn;
}

async function signIn(dialog, url, annotator, onOther) {
  const name = dialog.querySelector("input[name=name]"); // a link or a proxy says the name by itself
  if (name) name.value = annotator;
  return submitted(dialog, async () => {
    const body = new URLSearchParams(new FormData(dialog.querySelector("form")));
    const response = await fetch(url, { method: "POST", body, headers: { Accept: "application/json" } });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    if (answer.name !== annotator) onOther();
    return answer.name === annotator;
  });
}

/** Show the dialog until its form was sent and `act` has succeeded (true), or it was closed (false). */
function submitted(dialog, act) {
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector("[data-problem]");
  const buttons = form.querySelectorAll("button");
  problem.hidden = true;
  return new Promise((resolve) => {
    let result = false;
    const submit = async (event) => {
      event.preventDefault();
      for (const button of buttons) button.disabled = true;
      try {
        result = await act(event.submitter);
        dialog.close();
      } catch (error) {
        problem.textContent = error instanceof TypeError ? "No connection. Nothing is lost; try again." : error.message;
        problem.hidden = false;
      } finally {
        for (const button of buttons) button.disabled = false;
      }
    };
    const close = () => dialog.close();
    const press = (event) => { // Enter alone begins another line of the reason
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.querySelector("[data-default]")?.click();
    };
    form.addEventListener("submit", submit);
    form.addEventListener("keydown", press);
    dialog.querySelector("[data-close]")?.addEventListener("click", close);
    dialog.addEventListener("close", () => {
      form.removeEventListener("submit", submit);
      form.removeEventListener("keydown", press);
      dialog.querySelector("[data-close]")?.removeEventListener("click", close);
      resolve(result);
    }, { once: true });
    dialog.showModal();
  });
}
