"""The actions that steer a recording: pause, the next prompt, another k, drafter, rule or prompts, and once more."""

from __future__ import annotations

from ..layouts.screens.choice import ChoiceScreen
from .choices import DRAFTERS, PROMPT_SETS, RULES, rule_choice, rule_facts
from .shown_session import SessionApp


class SteeredApp(SessionApp):
    """An app whose recorder can be steered while its session is on the screen."""

    def _can_steer(self) -> bool:
        """Whether there is a recorder to steer and its session is on the screen; says so if not."""
        if not self._steersman.running:
            self.notify("Nothing is being recorded: r starts a recording.", markup=False)
            return False
        if self._steersman.measures:
            self.notify(f"The {self._steersman.measures} cannot be steered: r stops it and records.", markup=False)
            return False
        if not self._is_own():
            self.notify("This is another session; the recording goes on: o takes you back to it.", markup=False)
            return False
        return True

    async def _ask_recorder(self, words: str, action: str, **facts: object) -> None:
        if await self._steersman.send(action, **facts):
            if words:
                self.notify(words, markup=False, timeout=3)
            self._show()

    async def action_pause(self) -> None:
        """Hold the recorder, or let it go on."""
        if self._can_steer():
            if self.live.state == "paused":
                await self._ask_recorder("", "resume")
            elif self.live.state == "recording":
                await self._ask_recorder("", "pause")

    async def action_next_prompt(self) -> None:
        """Leave the present prompt."""
        if self._can_steer():
            await self._ask_recorder("Going on with the next prompt.", "next_prompt")

    async def action_longer(self, by: int) -> None:
        """Record with another k."""
        if not self._can_steer():
            return
        wish = self._steersman.wished_k(self._k_now(), by)
        if wish is not None:
            await self._ask_recorder(f"Asked for k = {wish}: a run of its own begins.", "change", k=wish)

    def _k_now(self) -> int:
        reckoning = self.reckoning
        if reckoning is not None and reckoning.ledger is not None:
            return reckoning.ledger.setting.k
        drafter = None if reckoning is None else reckoning.session.header.drafter
        return 1 if drafter is None or drafter.k is None else drafter.k

    def action_drafter(self) -> None:
        """Choose another drafter."""
        if not self._can_steer():
            return
        reckoning = self.reckoning
        now = None if reckoning is None or reckoning.ledger is None else reckoning.ledger.setting.drafter

        async def chosen(drafter: str | None) -> None:
            if drafter is not None and drafter != now and self._can_steer():
                await self._ask_recorder(f"Asked for {drafter}: a run of its own begins.", "change", drafter=drafter)

        self.push_screen(ChoiceScreen("Drafter", DRAFTERS, now), chosen)

    def action_rule(self) -> None:
        """Choose how drafts are accepted, and at which temperature text is drawn."""
        if not self._can_steer():
            return
        ledger = None if self.reckoning is None else self.reckoning.ledger
        now = None if ledger is None else rule_choice(ledger.setting.rule, ledger.setting.temperature)
        name_by_value = {choice.value: choice.name.strip() for choice in RULES}

        async def chosen(wish: str | None) -> None:
            if wish is not None and wish != now and self._can_steer():
                words = f"Asked for {name_by_value[wish]}: a run of its own begins."
                await self._ask_recorder(words, "change", **rule_facts(wish))

        self.push_screen(ChoiceScreen("Acceptance rule", RULES, now), chosen)

    def action_prompts(self) -> None:
        """Choose which prompts are measured."""
        if not self._can_steer():
            return

        async def chosen(prompts: str | None) -> None:
            if prompts is not None and self._can_steer():
                await self._ask_recorder(f"Asked for the prompts {prompts}.", "change", prompts=prompts)

        self.push_screen(ChoiceScreen("Prompt set", PROMPT_SETS), chosen)

    async def action_restart(self) -> None:
        """Stop what records, and record into a new session."""
        await self._steersman.stop()
        await self._record(None)
