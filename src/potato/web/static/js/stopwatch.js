// How long an item was in view.

/** A clock in milliseconds that runs while the page is in view. */
export function stopwatch() {
  let total = 0;
  let since = performance.now();
  const lap = () => {
    if (since !== null) total += performance.now() - since;
    since = document.hidden ? null : performance.now();
  };
  const reset = () => { total = 0; since = document.hidden ? null : performance.now(); };
  document.addEventListener("visibilitychange", lap);
  reset();
  return { reset, read: () => { lap(); return Math.round(total); } };
}
