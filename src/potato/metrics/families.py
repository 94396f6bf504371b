"""The store's figures in Prometheus' terms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from potato import __version__
from potato.store.clock import from_text
from potato.store.figures import Figures
from potato.store.training.runs import Run, State


class Scraped:
    """One scrape's figures; `hooks` maps a webhook's key to its number. What the library calls a collector."""

    def __init__(self, figures: Figures, hooks: dict[str, int], now: datetime, supervises: bool = True) -> None:
        self._figures = figures
        self._hooks = hooks
        self._now = now
        self._supervises = supervises

    def collect(self) -> Iterator[Metric]:
        """Every family."""
        figures = self._figures
        version = GaugeMetricFamily("potato_build_info", "The version that runs.", labels=["version"])
        version.add_metric([__version__], 1)
        yield version
        told = "1 for the server that supervises the runs, 0 for others of the same project."
        yield GaugeMetricFamily("potato_supervises", told, int(self._supervises))
        yield GaugeMetricFamily("potato_items", "Items of the project.", figures.items)
        yield GaugeMetricFamily("potato_items_done", "Items that have all their annotators.", figures.items_done)
        yield GaugeMetricFamily("potato_annotators", "People who have signed in.", figures.annotators)
        yield GaugeMetricFamily("potato_annotations", "Items answered, over all annotators.", figures.answered)
        yield GaugeMetricFamily("potato_skips", "Items skipped, over all annotators.", figures.skipped)
        told = "Answers written to the store: new, changed, cleared and imported ones."
        yield CounterMetricFamily("potato_saves", told, figures.writes)
        yield GaugeMetricFamily("potato_live_prelabels", "Suggestions that annotators may see.", figures.live_prelabels)
        yield from self._runs()
        yield from self._agents()
        yield from self._webhooks()

    def _runs(self) -> Iterator[Metric]:
        figures = self._figures
        yield GaugeMetricFamily("potato_queue_length", "Runs that wait.", figures.runs.get(State.QUEUED, 0))
        states = GaugeMetricFamily("potato_runs", "Runs by state.", labels=["state"])
        for state in State:
            states.add_metric([state.value], figures.runs.get(state, 0))
        yield states
        if figures.last_run is not None:
            yield from _last_run(figures.last_run)

    def _agents(self) -> Iterator[Metric]:
        seen = GaugeMetricFamily(
            "potato_agent_last_seen_seconds", "Seconds since a backend's agent was heard.", labels=["backend"]
        )
        for backend, moment in sorted(self._figures.agents.items()):
            seen.add_metric([backend], max(0.0, (self._now - from_text(moment)).total_seconds()))
        yield seen

    def _webhooks(self) -> Iterator[Metric]:
        attempts = CounterMetricFamily("potato_webhook_attempts", "Attempts at webhooks.", labels=["outcome"])
        for outcome, count in sorted(self._figures.deliveries.items()):
            attempts.add_metric([outcome], count)
        yield attempts
        waiting = GaugeMetricFamily("potato_webhook_waiting", "Events that wait for a webhook.", labels=["webhook"])
        for key, count in self._figures.waiting.items():
            waiting.add_metric([str(self._hooks[key])], count)
        yield waiting


def _last_run(run: Run) -> Iterator[Metric]:
    """The newest run that has ended: how, when, and how long it took."""
    labels, values = ["state", "trainer", "backend"], [run.state.value, run.trainer, run.backend]
    ended = from_text(run.finished_at) if run.finished_at else None
    if ended is None:
        return
    began = from_text(run.started_at or run.created_at)
    took = GaugeMetricFamily("potato_last_run_seconds", "How long the newest ended run took.", labels=labels)
    took.add_metric(values, (ended - began).total_seconds())
    yield took
    when = GaugeMetricFamily("potato_last_run_end_timestamp_seconds", "When it ended.", labels=labels)
    when.add_metric(values, ended.timestamp())
    yield when
