// Places in a text. Browsers count UTF-16 units, Potato's files and its server code points; here, and nowhere else, the one
// becomes the other. Words and what a reader takes for one character are told here too.

/** Both ways to count the places of `text`: `point(unit)` and `unit(point)`; a place within a pair is its beginning. */
export function places(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return { point: (unit) => unit, unit: (point) => point };
  const points = new Uint32Array(text.length + 1);
  const units = [];
  for (const character of text) {
    const unit = units.length ? units.at(-1).end : 0;
    units.push({ start: unit, end: unit + character.length });
    points.fill(units.length - 1, unit, unit + character.length);
  }
  points[text.length] = units.length;
  return { point: (unit) => points[unit], unit: (point) => (point < units.length ? units[point].start : text.length) };
}

/** The words of `text` that one can step through, as [start, end] in UTF-16 units: whatever is not space or punctuation. */
export function words(text) {
  const found = segments(text, "word").filter(([start, end]) => /[^\s\p{P}\p{C}]/u.test(text.slice(start, end)));
  return found.length ? found : [[0, text.length]];
}

/** Where, in UTF-16 units, what a reader takes for one character begins; and the end. */
export function characters(text) {
  return [...segments(text, "grapheme").map(([start]) => start), text.length];
}

function segments(text, granularity) {
  if (!("Segmenter" in Intl)) {
    const part = granularity === "word" ? /\s+|\S+/g : /\P{M}\p{M}*|\p{M}+/gsu;
    return [...text.matchAll(part)].map((match) => [match.index, match.index + match[0].length]);
  }
  const segmenter = new Intl.Segmenter(undefined, { granularity });
  return Array.from(segmenter.segment(text), ({ index, segment }) => [index, index + segment.length]);
}
