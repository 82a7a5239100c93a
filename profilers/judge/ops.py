"""Parts of a pass beside what they must cost: census, timings, floors, replays joined, a row a place or primitive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..record.session import Session
from .alike_probes import alike, at_contexts
from .amortisation import AmortisationRow, amortisation_of
from .census_table import CensusLine, CensusTotals, census_totals, census_widths, lines_by_block, lines_by_primitive
from .floor import FloorRow, FloorTable, floor_table
from .floors import Floors, NoFloor, floors_of, nearest, place_of_demand
from .places import NOT_QUEUED, Place, block_probes, queued_places
from .places_timed import PlacesTimed, Scale, as_built, places_timed, scale_in_full
from .spans import Ruler

MS_PER_S = 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsRow:
    """One place of a pass (`primitive` empty), or one kind of primitive in it; all layers together.

    `count`, `dispatches`, `moved_bytes` and `flops` are of the census at the table's width, None without one; `known`
    says whether its shapes are. Of a place `decode_ms` and `verify_ms` are by the table's ruler; of a primitive they
    are what its replays take, all calls together, and None where none was replayed. `matrices` are those replays.
    """

    place: Place
    primitive: str
    layers: int
    count: int | None = None
    dispatches: int | None = None
    moved_bytes: int | None = None
    flops: int | None = None
    known: bool = True
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    decode_ms: float | None = None
    verify_ms: float | None = None
    floor_ms: float | None = None
    matrices: tuple[AmortisationRow, ...] = ()

    @property
    def ratio(self) -> float | None:
        """Verify ÷ decode, on one ruler."""
        if self.decode_ms is None or self.verify_ms is None or min(self.decode_ms, self.verify_ms) <= 0:
            return None
        return self.verify_ms / self.decode_ms

    @property
    def avoidable_ms(self) -> float | None:
        """What verify takes beyond its floor, never below zero."""
        if self.verify_ms is None or self.floor_ms is None:
            return None
        return max(0.0, self.verify_ms - self.floor_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsTable:
    """The rows of a pass over `width` positions, most avoidable first, by place and by primitive.

    `ruler` is that of the places' times, None where both sides are not timed yet. `totals` is None without a census at
    that width. `extrapolated`: only some layers were built, and counts, times and floors stand for all of them.
    """

    width: int
    places: tuple[OpsRow, ...]
    primitives: tuple[OpsRow, ...]
    ruler: Ruler | None
    totals: CensusTotals | None
    floor: FloorTable | NoFloor
    extrapolated: bool

    def floor_of(self, place: Place) -> FloorRow | None:
        """The floor of a place's category, or of its kind within that where it has one of its own."""
        if isinstance(self.floor, NoFloor):
            return None
        row = next((row for row in self.floor.rows if row.category == place.category), None)
        own = [] if row is None else [detail for detail in row.details if detail.detail == place.detail]
        return own[0] if own else row


def ops_widths(session: Session) -> tuple[int, ...]:
    """The widths of more than one position that something of a pass is known at, a census or blocks timed."""
    known = [p.one for p in alike(session.probes)]
    timed = {one.width for one in known if one.category is not None and one.part == "verify"}
    return tuple(sorted(width for width in {*census_widths(session), *timed} if width > 1))


def ops_table(session: Session, width: int | None = None) -> OpsTable | None:
    """The table at `width` positions, or at the width above one that is known best; None where nothing is known."""
    if not session.census and not any(p.one.category is not None for p in alike(session.probes)):
        return None
    scale = scale_in_full(session)
    floor = floor_table(session, width, layer_scale=scale)
    floors = floors_of(session, layer_scale=scale)
    width = width or (max(ops_widths(session), default=1) if isinstance(floor, NoFloor) else floor.width)
    timed = _timed(session, width, floors, scale)
    lines = lines_by_block(session, width)
    known = dict.fromkeys([_place(line) for line in lines])
    known.update(dict.fromkeys(timed.decode))
    known.update(dict.fromkeys(timed.verify))
    if isinstance(floors, Floors):
        known.update(dict.fromkeys(place_of_demand(demand) for demand in floors.demands))
    table = amortisation_of(session)
    owned = _owned(() if table is None else table.rows, known)
    line_by_place = {_place(line): line for line in lines}
    places = [
        replace(
            _counted(place, line_by_place.get(place), scale),
            decode_ms=timed.decode.get(place),
            verify_ms=timed.verify.get(place),
            floor_ms=_floor_of(floors, place, width),
            matrices=owned.get(place, ()),
        )
        for place in known
    ]
    return OpsTable(
        width=width,
        places=tuple(sorted(places, key=_most_avoidable)),
        primitives=tuple(sorted(_primitives(session, width, owned, floors, scale), key=_most_avoidable)),
        ruler=timed.ruler if timed.decode and timed.verify else None,
        totals=next((each for each in census_totals(session) if each.width == width), None),
        floor=floor,
        extrapolated=scale is not as_built,
    )


def _timed(session: Session, width: int, floors: Floors | NoFloor, scale: Scale) -> PlacesTimed:
    """Both sides by one ruler where they can be had, else what the queued ruler timed of decode so far."""
    narrow, wide = block_probes(session, 1), block_probes(session, width)
    needed = {(p.one.category or "", p.one.block or "") for p in narrow if p.one.category != NOT_QUEUED}
    if isinstance(floors, Floors):
        contexts = sorted({d.context for d in session.demands})
        narrow, wide = (
            at_contexts(side, lambda each: nearest(contexts, each) == floors.context) for side in (narrow, wide)
        )
        needed = {(d.category, d.block) for d in floors.demands if d.category != NOT_QUEUED}
    found = places_timed(narrow, wide, needed, scale)
    if found is not None:
        return found
    cycled = queued_places(narrow, "cycled")
    return PlacesTimed(Ruler.QUEUED, {place: span.ms * scale(place) for place, span in cycled.items()}, {})


def _place(line: CensusLine) -> Place:
    return Place(line.category, line.detail, line.block)


def _counted(place: Place, line: CensusLine | None, scale: Scale) -> OpsRow:
    if line is None:
        return OpsRow(place=place, primitive="", layers=1)
    factor = scale(place)
    return OpsRow(
        place=place,
        primitive=line.primitive,
        layers=round(line.layers * factor),
        count=round(line.count * factor),
        dispatches=round(line.dispatches * factor),
        moved_bytes=round(line.bytes_moved * factor),
        flops=round(line.flops * factor),
        known=line.known,
        inputs=line.inputs,
        outputs=line.outputs,
    )


def _floor_of(floors: Floors | NoFloor, place: Place, width: int) -> float | None:
    if isinstance(floors, NoFloor):
        return None
    mine = [floors.of(demand, width).ms for demand in floors.demands if place_of_demand(demand) == place]
    return sum(mine) if mine else None


def _owned(rows: Iterable[AmortisationRow], places: Iterable[Place]) -> dict[Place, tuple[AmortisationRow, ...]]:
    """Each replayed matrix with the place it lies in: of its category and kind, the one named most exactly."""
    found: dict[Place, list[AmortisationRow]] = {}
    known = list(places)
    for row in rows:
        mine = [p for p in known if p.category == row.category and (p.detail or None) == row.detail]
        inside = [p for p in mine if _lies_in(row.weight, _module(p.block))]
        if inside:
            best = max(inside, key=lambda p: (len(_module(p.block)), not p.block.endswith(" rest")))
            found.setdefault(best, []).append(row)
    return {place: tuple(each) for place, each in found.items()}


def _module(block: str) -> str:
    """The module a place is named after: `model.layers.*.mlp rest` is of `model.layers.*.mlp`."""
    return block.split(" ")[0]


def _lies_in(weight: str, module: str) -> bool:
    return weight == module or weight.startswith((f"{module}.", f"{module} "))


def _primitives(
    session: Session,
    width: int,
    owned: Mapping[Place, Sequence[AmortisationRow]],
    floors: Floors | NoFloor,
    scale: Scale,
) -> list[OpsRow]:
    """Every kind of primitive of every place with its replays; what was replayed under another name has its own row."""
    rows: list[OpsRow] = []
    told: set[tuple[Place, str]] = set()
    for line in lines_by_primitive(session, width):
        place = _place(line)
        mine = tuple(row for row in owned.get(place, ()) if row.primitive == line.primitive)
        told.update((place, row.primitive) for row in mine)
        rows.append(_replayed(_counted(place, line, scale), mine, width, floors, scale))
    for place, matrices in owned.items():
        for primitive in dict.fromkeys(row.primitive for row in matrices if (place, row.primitive) not in told):
            mine = tuple(row for row in matrices if row.primitive == primitive)
            empty = OpsRow(place=place, primitive=primitive, layers=1, known=False)
            rows.append(_replayed(empty, mine, width, floors, scale))
    return rows


def _replayed(
    row: OpsRow, mine: tuple[AmortisationRow, ...], width: int, floors: Floors | NoFloor, scale: Scale
) -> OpsRow:
    """The row with what its replays take; the floor is bytes of all calls ÷ bandwidth, or flops ÷ peak."""
    if not mine:
        return row
    factor = scale(row.place)
    floor = None
    cells = [each.cell(width) for each in mine]
    if isinstance(floors, Floors) and all(cell is not None for cell in cells):
        read = sum(
            each.count * (cell.gigabytes_per_second or 0.0) * 1e6 * cell.ms.estimate
            for each, cell in zip(mine, cells, strict=True)
            if cell is not None
        )
        floor = read * factor / floors.bandwidth.value * MS_PER_S
        dtype = next((d.dtype for d in floors.demands if place_of_demand(d) == row.place), "")
        peak = floors.ceilings.peak_by_dtype.get(dtype)
        if peak is not None and row.flops:
            floor = max(floor, row.flops / peak.value * MS_PER_S)
    return replace(
        row,
        decode_ms=_calls_ms(mine, 1, factor),
        verify_ms=_calls_ms(mine, width, factor),
        floor_ms=floor,
        matrices=mine,
    )


def _calls_ms(matrices: Sequence[AmortisationRow], width: int, factor: float) -> float | None:
    """All calls of a pass; None where a matrix was not replayed at that width."""
    cells = [(row.count, row.cell(width)) for row in matrices]
    if any(cell is None for _, cell in cells):
        return None
    return sum(count * cell.ms.estimate for count, cell in cells if cell is not None) * factor


def _most_avoidable(row: OpsRow) -> tuple[bool, float, float, str]:
    """Most avoidable first; rows without a floor after them by what they take, and those without timings by bytes."""
    avoidable, takes = row.avoidable_ms, row.verify_ms or row.decode_ms or 0.0
    return (
        avoidable is None,
        -(takes if avoidable is None else avoidable),
        -float(row.moved_bytes or 0),
        row.place.block,
    )
