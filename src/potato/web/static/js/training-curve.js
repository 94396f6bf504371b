// The learning curve on a run's page: drawn anew as its runs end. A hidden tab asks for nothing.

const EVERY_MS = 5000;

/** Call `refresh` now and then for as long as the page says that runs of the curve have not ended. */
export function followCurve(refresh) {
  let timer = 0;
  const waits = () => document.querySelector("[data-curve-waits]") !== null;
  const look = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    if (waits()) await refresh();
    timer = setTimeout(look, EVERY_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
}
