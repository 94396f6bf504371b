// Keeps every relative time on the page fresh, and shows the exact one, in the reader's own time zone, on hover.

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

/** "2 minutes ago" for a moment in ISO 8601. */
export function ago(moment, now = Date.now()) {
  const seconds = (now - Date.parse(moment)) / 1000;
  if (!(seconds >= 45)) return "just now";
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? UNITS[2];
  const count = Math.max(1, Math.floor(seconds / size));
  return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
}

/** Write every `<time data-relative>` under `root` anew. */
export function refresh(root = document) {
  for (const element of root.querySelectorAll("time[data-relative]")) {
    const text = ago(element.dateTime);
    if (element.textContent !== text) element.textContent = text;
    element.title = new Date(element.dateTime).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  }
}

refresh();
setInterval(refresh, 20000);
