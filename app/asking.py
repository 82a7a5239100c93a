"""The what-if actions: move p, k, T_verify, T_draft or the batch on every screen, and one key back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..layouts.view_models import WhatIf
from .remembering import RememberingApp

if TYPE_CHECKING:  # heavy: loaded with the first page
    from ..layouts.screens.advice import AdviceScreen
    from ..layouts.screens.workloads import WorkloadsScreen

NO_BATCH = "No batch was timed in this session, so none can be asked about: specview batch times them."
ONE_BATCH = "No other batch was timed; between measured ones nothing is guessed."


class AskingApp(RememberingApp):
    """An app that can be asked what if; what is measured never moves."""

    @property
    def saved_sessions(self) -> Path | None:
        """Where the sessions are saved."""
        return self._folder

    def _asked(self, what_if: WhatIf) -> None:
        """Called after another what-if was shown."""

    def ask(self, what_if: WhatIf) -> None:
        """Show every screen under this what-if."""
        if what_if != self._what_if:
            self._what_if = what_if
            self._show()
            self._asked(what_if)

    def _can_ask(self) -> bool:
        """Whether there is a round to ask about; says what is missing if not."""
        if self.reckoning is None:
            return False
        line = self.view.break_even
        if line.curve is None:
            self.notify(line.message or "There is nothing to ask about yet.", markup=False)
            return False
        return True

    def action_what_if_p(self, by: int) -> None:
        """Ask what another p would change."""
        if self._can_ask():
            from ..layouts.costs import moved_p

            p = moved_p(self.view.break_even, by)
            if p is not None:
                self.ask(replace(self._what_if, p=p))

    def action_what_if_k(self, by: int) -> None:
        """Ask what another k would change."""
        self.action_what_if_length(by)

    def action_what_if_length(self, by: int) -> None:
        """Ask what another k would change, on any screen."""
        curve = self.view.break_even.curve
        if self._can_ask() and curve is not None:
            from ..layouts.what_if import moved_k

            wish = moved_k(curve.k, self._what_if, by)
            if wish is not None:
                self.ask(wish)

    def action_what_if_verify(self, by: int) -> None:
        """Ask what a cheaper or dearer verify pass would change, by 1% of the measured one."""
        if self._can_ask():
            from ..layouts.what_if import moved_scale

            self.ask(replace(self._what_if, verify=moved_scale(self._what_if.verify, by)))

    def action_what_if_draft(self, by: int) -> None:
        """Ask what a cheaper or dearer draft would change, by 1% of the measured one."""
        if self._can_ask():
            from ..layouts.what_if import moved_scale

            self.ask(replace(self._what_if, draft=moved_scale(self._what_if.draft, by)))

    def action_what_if_batch(self, by: int) -> None:
        """Ask what more or fewer sequences at once would change, among the batches that were measured."""
        if not self._can_ask():
            return
        from ..layouts.what_if import moved_batch

        batches = self.view.break_even.batches
        wish = moved_batch(batches, self._what_if.batch, by)
        if wish == self._what_if.batch:
            self.notify(ONE_BATCH if batches else NO_BATCH, markup=False)
        else:
            self.ask(replace(self._what_if, batch=wish))

    def action_measured(self) -> None:
        """Back from a what-if to what was measured; without one, from a page to the dashboard."""
        if self._what_if != WhatIf():
            self.ask(WhatIf())
        elif self.page is not None:
            self.action_dashboard()

    def on_workloads_screen_sorted(self, message: WorkloadsScreen.Sorted) -> None:
        """Its rows are to be in another order."""
        self._show_page()

    def on_advice_screen_wanted(self, message: AdviceScreen.Wanted) -> None:
        """A change was chosen: show all screens as if it were made."""
        self.ask(message.what_if)
