"""The screens over the dashboard: made by name, and shown what a reckoned session says to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..layouts.advice import advice_view
from ..layouts.advice_facts import AdviceFacts, advice_facts
from ..layouts.bases import basis_of
from ..layouts.experiments import SwitchFacts, experiments_view
from ..layouts.ledger import ledger_view
from ..layouts.ops import OpsFacts, ops_facts
from ..layouts.rounds_history import HistoryView, session_history
from ..layouts.screens.advice import AdviceScreen
from ..layouts.screens.compare import CompareScreen
from ..layouts.screens.experiments import ExperimentsScreen
from ..layouts.screens.ledger import LedgerScreen
from ..layouts.screens.ops import OpsScreen
from ..layouts.screens.page import PageScreen
from ..layouts.screens.rounds import RoundsScreen
from ..layouts.screens.sessions import SessionsScreen
from ..layouts.screens.sweep import SweepScreen
from ..layouts.screens.workloads import WorkloadsScreen
from ..layouts.sweep import SweepFacts, sweep_facts, sweep_view
from ..layouts.view_models import StatusView, WhatIf
from ..layouts.views import Reckoning, break_even_of
from ..layouts.workload_facts import WorkloadFacts, workload_facts
from ..layouts.workloads import workloads_view
from ..profilers.judge.ledger_rows import LedgerSheet
from ..profilers.judge.ledger_sheets import ledger_sheets
from .process import error_words
from .surveyed_floors import surveyed_floors
from .switching import known_switches

SwitchFinder = Callable[[str | None], tuple[tuple[SwitchFacts, ...], str]]
PageFacts = AdviceFacts | WorkloadFacts | OpsFacts | SweepFacts | HistoryView | tuple[LedgerSheet, ...] | None
SCREEN_BY_NAME: dict[str, type[PageScreen]] = {
    screen.NAME: screen
    for screen in (
        AdviceScreen,
        WorkloadsScreen,
        OpsScreen,
        SweepScreen,
        ExperimentsScreen,
        LedgerScreen,
        CompareScreen,
        RoundsScreen,
        SessionsScreen,
    )
}


@dataclass(frozen=True, slots=True)
class Switches:
    """What is known of the switches of MLX; `why_none` where there are none to try."""

    known: tuple[SwitchFacts, ...] = ()
    why_none: str = ""


def new_page(name: str, status: StatusView) -> PageScreen:
    """An empty page of that name."""
    return SCREEN_BY_NAME[name](status)


def page_facts(name: str, reckoning: Reckoning, folder: Path | None = None) -> PageFacts:
    """What a page needs beyond the reckoning; takes a while for large sessions, so it is done in a thread.

    `folder` holds the saved sessions, among which may be a survey of the same model.
    """
    if name == AdviceScreen.NAME:
        none_here = folder is not None and reckoning.floors is None
        found = surveyed_floors(folder, reckoning.session.header) if none_here and folder is not None else None
        return advice_facts(reckoning) if found is None else advice_facts(reckoning, *found)
    if name == WorkloadsScreen.NAME:
        return workload_facts(reckoning, basis_of(reckoning))
    if name == OpsScreen.NAME:
        return ops_facts(reckoning.session)
    if name == SweepScreen.NAME:
        return sweep_facts(reckoning.session, reckoning.ledger, reckoning.share_by_drafted)
    if name == LedgerScreen.NAME:
        return ledger_sheets(reckoning.session, reckoning.ledger)
    if name == RoundsScreen.NAME:
        return session_history(reckoning.session)
    return None


@dataclass(frozen=True, slots=True)
class PageNews:
    """What a thread found out for a page: its facts of a reckoning, or which switches there are.

    `trouble` is a sentence where there are no facts because they could not be found out.
    """

    name: str
    reckoning: Reckoning | None = None
    facts: PageFacts = None
    switches: Switches | None = None
    trouble: str = ""


class Desk:
    """Keeps what pages show, and has it found out in threads that `run` starts; `tell` is called in those threads."""

    def __init__(
        self,
        run: Callable[[Callable[[], None]], object],
        tell: Callable[[PageNews], None],
        switches: SwitchFinder = known_switches,
        folder: Path | None = None,
    ) -> None:
        self._folder = folder
        self._run, self._tell, self._find_switches = run, tell, switches
        self._found: dict[str, PageNews] = {}
        self._due: dict[str, Reckoning] = {}
        self.switches: Switches | None = None

    def clear(self) -> None:
        """Forget what was found of another session."""
        self._found.clear()
        self._due.clear()

    def has(self, name: str, reckoning: Reckoning | None) -> bool:
        """Whether everything that a page shows of a reckoning has been found out."""
        found = self._found.get(name)
        switches = name != ExperimentsScreen.NAME or self.switches not in (None, Switches())
        return found is not None and found.reckoning is reckoning and switches

    def trouble_of(self, name: str, reckoning: Reckoning | None) -> str:
        """Why a page shows nothing of a reckoning, if that is so."""
        found = self._found.get(name)
        return "" if found is None or found.reckoning is not reckoning else found.trouble

    def take(self, news: PageNews, now: Reckoning | None) -> None:
        """Keep what was found, unless another session is on the screen by now."""
        if news.switches is not None:
            self.switches = news.switches
            return
        if self._due.get(news.name) is news.reckoning:
            self._due.pop(news.name, None)
        if now is not None and news.reckoning is not None and now.session.header == news.reckoning.session.header:
            self._found[news.name] = news

    def serve(self, page: PageScreen, reckoning: Reckoning, what_if: WhatIf) -> None:
        """Show the page what is known, also of a moment ago, and have found out what is not."""
        name = page.NAME
        if name == ExperimentsScreen.NAME and self.switches is None:
            self.switches = Switches()
            device = reckoning.session.header.environment.device
            self._run(lambda: self._tell(PageNews(name, switches=self._switches_of(device))))
        known = self._found.get(name)
        if known is not None and known.reckoning is not None:
            show_page(page, known.facts, known.reckoning, what_if, self.switches or Switches())
        if (known is None or known.reckoning is not reckoning) and self._due.get(name) is not reckoning:
            self._due[name] = reckoning
            self._run(lambda: self._tell(self._news_of(name, reckoning)))

    def _news_of(self, name: str, reckoning: Reckoning) -> PageNews:
        try:
            return PageNews(name, reckoning, page_facts(name, reckoning, self._folder))
        except Exception as error:  # what nobody foresaw must not leave a page that waits for ever
            trouble = f"This page cannot be made of this session ({error_words(error)})."
            return PageNews(name, reckoning, trouble=trouble)

    def _switches_of(self, device: str | None) -> Switches:
        try:
            return Switches(*self._find_switches(device))
        except Exception as error:  # the same
            return Switches(why_none=f"The switches of MLX cannot be found out ({error_words(error)}).")


def show_page(page: PageScreen, facts: PageFacts, reckoning: Reckoning, what_if: WhatIf, switches: Switches) -> None:
    """Hand the page its part."""
    if isinstance(page, OpsScreen) and isinstance(facts, OpsFacts):
        page.show_facts(facts)
    elif isinstance(page, AdviceScreen) and isinstance(facts, AdviceFacts):
        page.show_view(advice_view(facts, what_if), 0 if facts.basis is None else facts.basis.k)
    elif isinstance(page, WorkloadsScreen) and isinstance(facts, WorkloadFacts):
        page.show_view(workloads_view(facts, what_if, page.sort))
    elif isinstance(page, SweepScreen) and isinstance(facts, SweepFacts):
        page.show_view(sweep_view(facts, what_if))
    elif isinstance(page, RoundsScreen) and isinstance(facts, HistoryView):
        page.show_view(facts)
    elif isinstance(page, LedgerScreen) and isinstance(facts, tuple):
        page.show_view(ledger_view(facts, break_even_of(reckoning, what_if).what_if))
    elif isinstance(page, ExperimentsScreen):
        page.show_view(experiments_view(reckoning.session, switches.known, switches.why_none))
