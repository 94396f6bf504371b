// Words and numbers of the training pages.

/** "about 2 minutes left"; nothing for what is not known. */
export function left(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  if (seconds < 1) return "";
  if (seconds < 60) return `about ${plural(Math.round(seconds), "second")} left`;
  if (seconds < 5400) return `about ${plural(Math.round(seconds / 60), "minute")} left`;
  return `about ${plural(Math.round(seconds / 3600), "hour")} left`;
}

/** "1 item", "1,200 items". */
export function plural(count, word) {
  return `${number(count)} ${word}${count === 1 ? "" : "s"}`;
}

/** "12,345" */
export function number(value) {
  return value.toLocaleString("en-US");
}

/** A figure with as many digits as tell something. */
export function figure(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return number(value);
  return Math.abs(value) >= 100 ? value.toFixed(1) : value.toPrecision(3);
}

/** An element with text, classes and children; text is never read as markup. */
export function element(tag, { text = "", className = "", attributes = {} } = {}, ...children) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A notice: what happened, and what to do (text or an element). */
export function notice(kind, what, todo = "") {
  const box = element("div", { className: `notice ${kind}` });
  box.append(element("p", { text: what, className: "notice-what" }));
  if (todo) box.append(element("p", {}, todo));
  return box;
}
