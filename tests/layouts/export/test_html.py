"""The report: one file that fetches nothing and runs nothing, whatever a session holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_session import hostile_session

from specview.layouts.export.html import html_text
from specview.layouts.export.report import report_of
from specview.profilers.record.session import read_session

EXAMPLES = Path(__file__).resolve().parents[3] / "assets" / "examples"
VOID = {"meta"}
LOADING = ("src", "href", "srcset", "action", "data", "poster", "xlink:href", "background", "formaction", "style")


class Page(HTMLParser):
    """Tags, attributes and text of a page, and whether its tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data


def made(session, name: str = "it.specview.jsonl") -> tuple[str, Page]:
    text = html_text(report_of(session, name, "ab" * 32), "9.9.9")
    return text, Page(text)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.jsonl")), ids=lambda p: p.name.split(".")[0])
def test_every_example_makes_a_sound_page_that_refers_to_nothing(path: Path) -> None:
    text, page = made(read_session(path), path.name)
    assert page.open == []
    assert "script" not in page.tags and "link" not in page.tags and "iframe" not in page.tags
    assert not re.findall(r"https?://|//[a-z]+\.|@import|url\((?!#hatched\))", text)
    assert not [pair for pair in page.attributes if pair[0] in LOADING or pair[0].startswith("on")]
    assert "default-src 'none'" in dict(page.attributes)["content"] or "default-src 'none'" in str(page.attributes)
    assert "nan" not in re.findall(r'"(nan|inf|-inf)"', text)
    assert page.text.count("Ledger") >= 1 and "Environment" in page.text and "Honest limits" in page.text


def test_a_report_has_the_verdict_the_plots_the_ledger_and_its_sources() -> None:
    text, page = made(read_session(EXAMPLES / "bundled-mtp.specview.jsonl"))
    assert "LOSES" in page.text and "0.87x measured, [0.81, 0.94]" in page.text
    for title in (
        "Break-even line", "A decode step by two rulers", "Verify(2) ÷ decode by op category",
        "Verify(n) ÷ verify(1) by positions", "T_verify(n)", "Speedup by k", "Accepted drafts in a round",
    ):  # fmt: skip
        assert title in page.text
    assert page.tags.count("svg") == 8  # seven plots and the hatching
    assert "● measured" in page.text and "○ inferred" in page.text
    assert "1.877 × 6.51 ÷ 14.06 ms = 0.869x" in page.text
    assert "prefers-color-scheme: dark" in text and "@media print" in text
    assert "ab" * 32 in page.text and "9.9.9" in page.text


def test_a_report_is_the_same_each_time() -> None:
    session = read_session(EXAMPLES / "smollm2-4bit-copy.specview.jsonl")
    assert made(session)[0] == made(session)[0]


def test_a_refused_verdict_has_no_speedup_that_stands_out() -> None:
    report = report_of(read_session(EXAMPLES / "article-a-july.specview.jsonl"), "july")
    assert report.dashboard.headline.kind == "refused"
    assert not [title for title, _ in report.tiles if "speedup" in title]


def test_hostile_texts_are_only_text() -> None:
    text, page = made(hostile_session(), "</style><script>x</script>")
    assert "script" not in page.tags and "img" not in page.tags and page.open == []
    assert "\x1b" not in text and "<script" not in text
    assert "<script>alert(1)</script>" in page.text  # told, not run


def test_generated_text_and_prompts_are_not_in_it() -> None:
    session = read_session(EXAMPLES / "bundled-mtp.specview.jsonl")
    pieces = {p for each in session.rounds if each.pieces for p in each.pieces.committed if len(p.strip()) > 6}
    assert pieces and not any(
        piece.strip() in made(session)[1].text for piece in list(pieces)[:20] if " " in piece.strip()
    )


def test_an_empty_session_has_a_page_too(build) -> None:
    _, page = made(build.session())
    assert page.open == [] and "NO VERDICT" in page.text
