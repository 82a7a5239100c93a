"""`specview doctor`: prints what of this machine bends measurements, and what to do."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..profilers.measure.doctor import as_json, findings

SIGNS = {
    "ok": ("ok", "green"),
    "note": ("note", "cyan"),
    "warn": ("warn", "yellow"),
    "bad": ("bad", "bold red"),
}


def examine(as_object: bool) -> int:
    """Examine the machine and print the findings; status 1 when something is bad."""
    found = findings()
    if as_object:
        print(json.dumps(as_json(found), ensure_ascii=False))
    else:
        table = Table(box=None, padding=(0, 2, 1, 0), show_header=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(ratio=1)
        for finding in found:
            word, style = SIGNS[finding.status]
            said = Text(finding.found)
            if finding.advice:
                said.append(f"\n→ {finding.advice}")
            table.add_row(Text(finding.topic), Text(word, style=style), said)
        Console(highlight=False).print(table)
    return int(any(finding.status == "bad" for finding in found))
