// Keeps what automatic retraining waits for up to date: seconds pass, and annotators go on.

import { refreshParts } from "./training-parts.js";

const POLL_MS = 5000;
const part = document.querySelector("[data-retraining][data-on]");
let newest = part?.dataset.newest;

async function look() {
  if (document.hidden) return;
  const address = new URL(part.dataset.retraining, document.baseURI);
  const response = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!response?.ok) return; // the page says elsewhere that the server cannot be reached
  const { waits, decisions } = await response.json();
  const sentence = waits.length ? `${waits.map((wait) => wait.sentence).join("; ")}.` : "A run starts now.";
  const line = part.querySelector("[data-waits] strong");
  const text = sentence[0].toUpperCase() + sentence.slice(1);
  if (line.textContent !== text) line.textContent = text;
  const last = decisions.length ? `${decisions[0].at} ${decisions[0].kind}` : "";
  if (last !== newest) refreshParts();
  newest = last;
}

if (part) setInterval(look, POLL_MS);
