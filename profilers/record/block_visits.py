"""When blocks are timed during a recording, and the records that come of it: within a duty, two widths in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...engine.decode import Generation
from ...engine.models import Target
from ..measure.rulers import BlockProbe
from ..measure.timings import BlockTiming
from . import records

Clock = Callable[[], int]


class BlockVisits:
    """Visits the blocks between segments, decode width and verify width in turn.

    The first visit of each width is made at once, so that a screen soon has
    something to show; later ones wait until `duty` (block time ÷ segment time)
    has paid for them.
    """

    def __init__(self, target: Target, widths: Sequence[int], duty: float, clock: Clock) -> None:
        self._probe = BlockProbe(target)
        self._place_by_block = {block.name: block.place for block in self._probe.blocks}
        self._widths = tuple(dict.fromkeys(widths))
        self._duty, self._clock = duty, clock
        self._owed_ns = 0.0
        self._visits = 0

    def visit(
        self, generation: Generation, coming: Sequence[int], segment_ns: int, now: Callable[[], int]
    ) -> Iterator[records.Probe]:
        """After a segment that took `segment_ns`: the records of one visit over the tokens that follow, or none."""
        self._owed_ns += segment_ns * self._duty
        if self._visits >= len(self._widths) and self._owed_ns <= 0:
            return
        width = self._widths[self._visits % len(self._widths)]
        self._visits += 1
        began = self._clock()
        fenced: list[BlockTiming] = []
        budget_ns = int(max(self._owed_ns, segment_ns * self._duty))
        for timing in self._probe.measure(generation, coming[:width], self._clock, budget_ns):
            if timing.ruler == "fenced":
                fenced.append(timing)
            else:
                yield queued_record(timing, now())
        yield from fenced_records(fenced, self._place_by_block, now())
        self._owed_ns -= self._clock() - began


def fenced_records(
    timings: Sequence[BlockTiming], place_by_block: Mapping[str, str], t_ns: int
) -> Iterator[records.Probe]:
    """One record a place: the sum over its blocks in this pass."""
    places: dict[tuple[str, str], list[BlockTiming]] = {}
    for timing in timings:
        place = place_by_block.get(timing.block, timing.block)
        places.setdefault((place, timing.category), []).append(timing)
    for (place, category), each in places.items():
        yield records.Probe(
            t_ns=t_ns,
            ruler="fenced",
            part=part_of(each[0].width),
            width=each[0].width,
            context=each[0].context,
            block=place,
            category=category,
            detail=each[0].detail,
            samples_ns=(sum(sum(t.samples_ns or ()) for t in each),),
            build_ns=(sum(sum(t.build_ns) for t in each),),
            eval_ns=(sum(sum(t.eval_ns) for t in each),),
            layers=len(each),
            pipelined=False,
        )


def queued_record(timing: BlockTiming, t_ns: int) -> records.Probe:
    """A slope as the session keeps it."""
    return records.Probe(
        t_ns=t_ns,
        ruler="queued",
        part=part_of(timing.width),
        width=timing.width,
        context=timing.context,
        block=timing.block,
        category=timing.category,
        detail=timing.detail,
        layer=timing.layer,
        slope_ns=timing.slope_ns,
        slope_low_ns=timing.low_ns,
        slope_high_ns=timing.high_ns,
        cached=timing.cached,
        layers=timing.layers,
        arrangement=timing.arrangement,
        pipelined=False,
    )


def part_of(width: int) -> str:
    """One position is a decode step, more are a verify pass."""
    return "decode" if width == 1 else "verify"
