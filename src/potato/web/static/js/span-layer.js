// Marks drawn behind the item's text, which itself stays as it is. Each mark has a lane of its own below the line, so that
// marks which overlap lie one under the other; its tag names the label, or the label's key where the name has no room.

const LEAST_LANES = 1; // so that the first mark does not move the text

/** Draw `marks` ({start, end, hue, name, short, look}) behind `text`; `look` is "", "suggested" or "chosen". */
export function draw(text, marks) {
  const layer = layerOf(text, "marks");
  const lanes = laid(marks);
  const depth = Math.max(LEAST_LANES, ...lanes.map((lane) => lane + 1));
  text.element.style.setProperty("--lanes", depth);
  const corner = layer.getBoundingClientRect();
  const drawn = [];
  marks.forEach((mark, number) => {
    text.boxes(mark).forEach((box, line) => drawn.push(...shapes(mark, lanes[number], box, corner, line === 0)));
  });
  layer.replaceChildren(...drawn);
  // All are measured before the first is changed: each change would have the browser lay the page out anew.
  const narrow = [...layer.querySelectorAll(".mark-tag")].filter((tag) => tag.scrollWidth > tag.clientWidth);
  for (const tag of narrow) tag.textContent = tag.dataset.short;
}

/** Draw what is picked, null for nothing. */
export function drawPicked(text, stretch) {
  const layer = layerOf(text, "picked");
  const corner = layer.getBoundingClientRect();
  const mark = { hue: 0, look: "picked" };
  layer.replaceChildren(...(stretch ? text.boxes(stretch).map((box) => placed("mark-ground", mark, box, corner)) : []));
}

function layerOf({ element, isRightToLeft }, name) {
  const there = element.parentElement.querySelector(`.span-layer[data-layer=${name}]`);
  if (there) return there;
  const layer = document.createElement("div");
  layer.className = "span-layer";
  layer.dataset.layer = name;
  layer.ariaHidden = "true";
  layer.dir = isRightToLeft ? "rtl" : "ltr";
  element.before(layer);
  element.classList.add("markable");
  return layer;
}

/** The first lane that is free for each mark, in order. */
function laid(marks) {
  const ends = []; // for each lane, the marks in it
  return marks.map((mark) => {
    let lane = ends.findIndex((others) => others.every((other) => other.end <= mark.start || mark.end <= other.start));
    if (lane === -1) lane = ends.push([]) - 1;
    ends[lane].push(mark);
    return lane;
  });
}

function shapes(mark, lane, box, corner, first) {
  const ground = placed("mark-ground", mark, box, corner);
  const bar = placed("mark-bar", mark, box, corner);
  bar.style.setProperty("--lane", lane);
  if (first) {
    const tag = document.createElement("span");
    tag.className = "mark-tag";
    tag.textContent = mark.name;
    tag.dataset.short = mark.short;
    bar.append(tag);
  }
  return [ground, bar];
}

function placed(kind, mark, box, corner) {
  const shape = document.createElement("div");
  shape.className = `${kind} hue-${mark.hue} ${mark.look}`;
  shape.style.left = `${box.left - corner.left}px`;
  shape.style.top = `${box.top - corner.top}px`;
  shape.style.width = `${Math.max(3, box.right - box.left)}px`;
  shape.style.height = `${box.bottom - box.top}px`;
  return shape;
}
