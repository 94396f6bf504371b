// Follows a run that goes: its step, its bar, its curves and the end of its log.
//
// First it catches up by three plain requests, then it listens to the stream from there. A hidden tab lets its stream go
// and catches up when it is looked at again. Where streams do not get through, it asks every few seconds instead.

import { base, call, text } from "./training-api.js";
import { Charts } from "./training-charts.js";
import { left, number } from "./training-words.js";

const TAIL = 32768;
const LOG_LINES = 600;
const FAILURES_BEFORE_POLLING = 3;
const RETRY_MS = 2000;

/** Follows the run shown in `section`; `onChange(run)` is told of each new state. */
export class LiveRun {
  constructor(section, onChange) {
    this.section = section;
    this.id = section.dataset.run;
    this.state = section.dataset.state;
    this.onChange = onChange;
    this.charts = new Charts(section.querySelector("[data-curves]"));
    this.after = 0;
    this.logAfter = 0;
    this.failures = 0;
    this.source = null;
    this.timer = 0;
    this.ended = false;
    this.caughtUp = false;
    this.onVisibility = () => (document.hidden ? this.pause() : this.start());
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  find(name) {
    return this.section.querySelector(`[data-${name}]`);
  }

  /** Catch up and go on from there. */
  async start() {
    this.pause();
    try {
      await this.catchUp();
      this.tell("");
    } catch (error) {
      this.retry(error);
      return;
    }
    if (this.ended || document.hidden) return;
    if (this.failures >= FAILURES_BEFORE_POLLING || !window.EventSource) this.poll();
    else this.listen();
  }

  /** Let the stream go, and whatever is planned. */
  pause() {
    this.source?.close();
    this.source = null;
    clearTimeout(this.timer);
  }

  /** Stop for good: the section is no longer on the page. */
  stop() {
    this.pause();
    this.ended = true;
    document.removeEventListener("visibilitychange", this.onVisibility);
  }

  async catchUp() {
    const [run, curves, log] = await Promise.all([
      call("GET", `runs/${this.id}`),
      call("GET", `runs/${this.id}/curves`),
      text(`runs/${this.id}/log?tail=${TAIL}`),
    ]);
    this.charts.set(curves.curves);
    this.after = curves.next;
    this.logAfter = log.next;
    this.setLog(log.text, !this.caughtUp);
    this.caughtUp = true;
    this.show(run);
  }

  listen() {
    const address = new URL(`runs/${this.id}/stream?after=${this.after}&log_after=${this.logAfter}`, base);
    const source = (this.source = new EventSource(address));
    const on = (name, take) => source.addEventListener(name, (event) => take(JSON.parse(event.data)));
    on("run", (run) => {
      this.failures = 0;
      this.show(run);
    });
    on("event", (event) => {
      this.after = event.offset;
      if (event.event === "metric") this.charts.add(event);
    });
    on("log", (log) => {
      this.logAfter = log.next;
      this.addLog(log.text);
    });
    on("end", () => {
      this.ended = true;
      this.pause();
    });
    source.onerror = () => {
      this.failures += 1;
      this.retry(null);
    };
  }

  poll() {
    this.timer = setTimeout(() => this.start(), RETRY_MS);
  }

  retry(error) {
    this.pause();
    if (this.ended || error?.status === 404) return;
    if (error) this.tell(`${error.message} What is shown may be old; trying again.`);
    this.timer = setTimeout(() => this.start(), RETRY_MS);
  }

  tell(words) {
    const place = this.find("connection");
    if (place.textContent !== words) place.textContent = words;
  }

  show(run) {
    const words = run.step || run.state;
    if (this.find("step").textContent !== words) this.find("step").textContent = words;
    this.showProgress(run.progress);
    if (["success", "error", "cancelled"].includes(run.state)) this.ended = true;
    this.section.querySelector(".live-now").hidden = this.ended;
    if (run.state !== this.state) {
      this.state = run.state;
      this.onChange(run);
    }
  }

  showProgress(progress) {
    const known = Boolean(progress?.total);
    this.find("bar-row").hidden = !known;
    if (known) {
      this.find("bar").max = progress.total;
      this.find("bar").value = progress.current;
    }
    this.find("phase").textContent = progress?.phase ?? "";
    this.find("count").textContent = known ? `${number(progress.current)} of ${number(progress.total)}` : "";
    this.find("eta").textContent = left(progress?.eta_s);
  }

  setLog(words, toEnd = false) {
    const log = this.find("log");
    const atEnd = toEnd || isAtEnd(log);
    if (log.textContent !== words) log.textContent = words;
    this.find("log-empty").hidden = words !== "";
    log.hidden = words === "";
    if (atEnd) log.scrollTop = log.scrollHeight;
  }

  addLog(words) {
    const lines = (this.find("log").textContent + words).split("\n");
    this.setLog(lines.slice(-LOG_LINES).join("\n"));
  }
}

/** Whether a person who reads further up would be torn away by scrolling. */
function isAtEnd(log) {
  return log.scrollHeight - log.scrollTop - log.clientHeight < 40;
}
