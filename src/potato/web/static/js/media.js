// An item's image and recording: larger and smaller, play, pause and back, by button and by key; and a sentence where one
// could not be loaded.

import { pageKey } from "./keys.js";

const SIZES = [1, 1.5, 2, 3, 4, 6];
const BACK_S = 5;
const PAN = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const zoomed = new WeakMap(); // image → its place in SIZES

/** Say of what a page that just came shows whether it could not be loaded: this script may have missed the event. */
export function beginMedia(root) {
  for (const image of root.querySelectorAll("img.item-image")) if (image.complete && !image.naturalWidth) unloaded(image);
  for (const audio of root.querySelectorAll("audio.item-audio")) if (audio.error) unloaded(audio);
}

const acts = {
  "+": () => zoom(1),
  "=": () => zoom(1),
  "-": () => zoom(-1),
  ".": toggle,
  ",": back,
};

function zoom(steps) {
  const image = document.querySelector("img.item-image");
  if (!image) return false;
  const before = zoomed.get(image) ?? 0;
  const place = Math.min(SIZES.length - 1, Math.max(0, before + steps));
  zoomed.set(image, place);
  resize(image, SIZES[before], SIZES[place]);
  return true;
}

/** Keep the middle of what is seen in the middle. */
function resize(image, before, size) {
  const frame = image.closest("[data-image-frame]");
  const media = image.closest("[data-media]");
  const fitted = image.getBoundingClientRect();
  const middle = [(frame.scrollLeft + frame.clientWidth / 2) / fitted.width, (frame.scrollTop + frame.clientHeight / 2) / fitted.height];
  if (before === 1) image.dataset.fit = fitted.width;
  frame.classList.toggle("zoomed", size > 1);
  image.style.width = size > 1 ? `${image.dataset.fit * size}px` : "";
  const now = image.getBoundingClientRect();
  frame.scrollTo(middle[0] * now.width - frame.clientWidth / 2, middle[1] * now.height - frame.clientHeight / 2);
  media.querySelector("[data-zoom-state]").textContent = `${size * 100} %`;
  media.querySelector("[data-zoom=out]").disabled = size === SIZES[0];
  media.querySelector("[data-zoom=in]").disabled = size === SIZES.at(-1);
}

function toggle() {
  const audio = document.querySelector("audio.item-audio");
  if (!audio) return false;
  if (audio.paused) audio.play().catch(() => audio.error && unloaded(audio)); // one that was paused at once is whole
  else audio.pause();
  return true;
}

function back() {
  const audio = document.querySelector("audio.item-audio");
  if (!audio) return false;
  audio.currentTime = Math.max(0, audio.currentTime - BACK_S);
  return true;
}

function unloaded(shown) {
  const media = shown.closest("[data-media]");
  media?.replaceWith(media.querySelector("[data-unloaded]").content.cloneNode(true));
}

document.addEventListener("keydown", (event) => {
  const frame = event.target.closest?.("[data-image-frame].zoomed");
  if (frame && event.key in PAN && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    const [x, y] = PAN[event.key];
    frame.scrollBy(x * 60, y * 60);
    return;
  }
  if (acts[pageKey(event)]?.()) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const { zoom: direction, audio } = event.target.closest?.("[data-zoom], [data-audio]")?.dataset ?? {};
  if (direction) zoom(direction === "in" ? 1 : -1);
  else if (audio === "toggle") toggle();
  else if (audio === "back") back();
});

document.addEventListener("error", (event) => { if (event.target.matches?.(".item-image, .item-audio")) unloaded(event.target); }, true);
