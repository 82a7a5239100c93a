"""The style of a report: light and dark by what the reader prefers, on paper too, without a font from elsewhere."""

from __future__ import annotations

LIGHT = """
--ground: #fbfcfd; --paper: #ffffff; --ink: #1c2226; --quiet: #59636b; --rule: #d8dfe5; --grid: #e6ebef;
--good: #2c7a12; --bad: #b4164b; --warn: #8f5200; --plain: #55606a; --band: #a9c9e2; --area: #2c7a1218;
--limit: #3d7a0e; --measured: #b4164b; --what-if: #7a44c2; --ratio: #2c7a12; --whole: #3d8a0e; --accepted: #1d5fc4;
--embedding: #7a44c2; --linear: #0d7f96; --full: #1d5fc4; --moe: #b4164b; --mlp: #2c7a12; --norms: #7d6a00;
--head: #b35900; --sampling: #14795a; --misc: #6a7278;
"""
DARK = """
--ground: #101214; --paper: #15181b; --ink: #e4e8eb; --quiet: #9aa4ad; --rule: #2b333a; --grid: #232a30;
--good: #7ed957; --bad: #ff5c8a; --warn: #ffb454; --plain: #a0a8b0; --band: #31536b; --area: #7ed9571c;
--limit: #98e024; --measured: #ff5c8a; --what-if: #c9a0ff; --ratio: #7ed957; --whole: #98e024; --accepted: #4d9dff;
--embedding: #c9a0ff; --linear: #5bd1e8; --full: #4d9dff; --moe: #ff5c8a; --mlp: #7ed957; --norms: #e8d44d;
--head: #ff9d3c; --sampling: #66d9b0; --misc: #b8bdc2;
"""
RULES = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 15px; font-weight: 600; color: var(--quiet); margin: 0 0 14px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 10px; }
h3 { font-size: 14px; margin: 0 0 8px; }
p { margin: 0 0 8px; max-width: 90ch; }
.verdict { border-left: 6px solid var(--tone); background: var(--paper); padding: 16px 20px; border-radius: 4px; }
.verdict .word { color: var(--tone); font-size: 26px; font-weight: 700; margin: 0 0 4px; line-height: 1.25; }
.verdict .first { font-size: 17px; }
.verdict .third { color: var(--quiet); margin-bottom: 0; }
.good { --tone: var(--good); } .bad { --tone: var(--bad); } .warn { --tone: var(--warn); }
.plain { --tone: var(--plain); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 16px 0 0; }
.tiles div { background: var(--paper); border: 1px solid var(--rule); border-radius: 4px; padding: 10px 14px; }
.tiles dt { color: var(--quiet); font-size: 12.5px; }
.tiles dd { margin: 0; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles dd small { display: block; font-size: 12px; font-weight: 400; color: var(--quiet); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: 14px; }
figure { margin: 0; background: var(--paper); border: 1px solid var(--rule); border-radius: 4px; padding: 14px 16px; }
figcaption { color: var(--quiet); font-size: 13px; margin-top: 6px; }
.plot { width: 100%; height: auto; display: block; font-size: 12px; }
.plot text { fill: var(--ink); font-variant-numeric: tabular-nums; }
.plot .tick, .plot .axis-title { fill: var(--quiet); font-size: 11px; }
.plot .here { font-weight: 700; }
.plot .measured-text { fill: var(--measured); }
.grid { stroke: var(--grid); } .axis { stroke: var(--quiet); }
.level { stroke: var(--quiet); stroke-dasharray: 5 4; }
.upright { stroke: var(--measured); stroke-dasharray: 2 3; }
.line { stroke-width: 2; }
.limit { stroke: var(--limit); } .measured { stroke: var(--measured); } .what-if { stroke: var(--what-if); }
.other-1 { stroke: var(--full); } .other-2 { stroke: var(--head); } .other-3 { stroke: var(--what-if); }
.limit-dot { fill: var(--limit); } .measured-dot { fill: var(--measured); } .what-if-dot { fill: var(--what-if); }
.other-1-dot { fill: var(--full); } .other-2-dot { fill: var(--head); } .other-3-dot { fill: var(--what-if); }
.whisker { stroke-width: 1.3; opacity: .75; }
.wins-area { fill: var(--area); } .band { fill: var(--band); opacity: .45; } .cliff { fill: var(--warn); }
.ratio { fill: var(--ratio); } .extra { fill: url(#hatched); } .floor { stroke: var(--ink); stroke-width: 2.5; }
.hatch { fill: var(--measured); opacity: .28; } .hatch-line { stroke: var(--measured); stroke-width: 2; }
.gap { fill: url(#hatched); } .whole { fill: var(--whole); } .accepted { fill: var(--accepted); }
.c-embedding { fill: var(--embedding); } .c-linear { fill: var(--linear); } .c-full { fill: var(--full); }
.c-moe { fill: var(--moe); } .c-mlp { fill: var(--mlp); } .c-norms { fill: var(--norms); }
.c-head { fill: var(--head); } .c-sampling { fill: var(--sampling); } .c-misc { fill: var(--misc); }
.defs { position: absolute; width: 0; height: 0; }
.wide { overflow-x: auto; background: var(--paper); border: 1px solid var(--rule); border-radius: 4px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { padding: 5px 10px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); }
thead th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody th { padding-top: 14px; font-size: 13px; } tbody th small { font-weight: 400; color: var(--quiet); }
tr:last-child td { border-bottom: 0; }
td.remark { color: var(--quiet); min-width: 16em; } td.source { white-space: nowrap; }
code { font-family: ui-monospace, monospace; font-size: 13px; overflow-wrap: anywhere; }
ul { margin: 0; padding-left: 20px; max-width: 90ch; } li { margin: 3px 0; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; font-size: 13.5px; margin: 0; }
.facts dt { color: var(--quiet); } .facts dd { margin: 0; overflow-wrap: anywhere; }
footer { margin-top: 40px; color: var(--quiet); font-size: 12.5px; overflow-wrap: anywhere; }
@media (max-width: 560px) { .facts { grid-template-columns: 1fr; } .facts dd { margin-bottom: 6px; } }
@media print {
  @page { margin: 14mm; }
  body { background: #fff; font-size: 11px; } main { max-width: none; padding: 0; }
  figure, .verdict, .tiles div, .wide { break-inside: avoid; }
  .wide { overflow: visible; break-inside: auto; } tr { break-inside: avoid; } thead { display: table-header-group; }
  h2 { break-after: avoid; } table { font-size: 9.5px; } th, td { padding: 2px 5px; }
  .figures { grid-template-columns: 1fr 1fr; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""


def style() -> str:
    """The whole style sheet. Paper is always light."""
    return (
        f":root {{ color-scheme: light dark; {LIGHT} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}\n{RULES}"
    )
