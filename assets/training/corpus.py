"""Builds english.txt, chinese.txt and code.txt from licensed packages, the same way every time.

    python corpus.py CORPUS_DIR        (on Debian: it downloads packages with apt-get and pip)

Documents are cleaned of markup, deduplicated by paragraph, shuffled with a
fixed seed and joined by a blank line. The last 120 kB of each kind are never
trained on; they go to heldout/KIND.txt for evaluate.py.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import random
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

from sources import SOURCES, Source

HELD_OUT_BYTES = 120_000
DROPPED_FOLDERS = {
    "site-packages",
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "__pycache__",
    "locale",
}


def unpacked(source: Source, work: Path) -> Path:
    """Download and unpack the package of `source` under `work`; return its folder."""
    if source.origin == "stdlib":
        return Path(sysconfig.get_paths()["stdlib"])
    folder = work / source.package
    if folder.exists():
        return folder
    downloads = work / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    if source.origin == "debian":
        subprocess.run(["apt-get", "download", "-qq", source.package], cwd=downloads, check=True)
        package = next(downloads.glob(f"{source.package}_*.deb"))
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "-d", str(downloads), source.package], check=True)
        stem = source.package.split("==")[0].lower()
        wheel = next(p for p in downloads.glob("*.whl") if p.name.lower().startswith(stem))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def without_html(text: str) -> str:
    """Visible text of a page, one paragraph a line."""
    text = re.sub(r"(?is)<(script|style|head|nav)\b.*?</\1>", " ", text)
    text = re.sub(r"(?i)</?(p|div|li|ul|ol|tr|td|th|dt|dd|h[1-6]|br|pre|table)\b[^>]*>", "\n", text)
    text = html.unescape(re.sub(r"<[^>]+>", "", text))
    lines = (re.sub(r"[ \t\xa0]+", " ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def without_roff(text: str) -> str:
    """Words of a manual page, without requests and font escapes."""
    kept = []
    for line in text.splitlines():
        if line.startswith((".", "'")):
            match = re.match(r"\.\s*(?:SH|SS|TP|B|I|BR|IP)\s+(.*)", line)
            if not match:
                continue
            line = match.group(1)
        line = re.sub(r"\\f.|\\&|\\\(..|\\\*?\[[^\]]*\]", "", line).replace("\\-", "-").replace("\\", "")
        kept.append(line.strip(' "'))
    return "\n".join(line for line in kept if line)


def bible_verses() -> str:
    """The King James text through the package's own reader (its data file is compressed in a form of its own)."""
    run = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], capture_output=True, text=True, check=True)
    return re.sub(r"(?m)^\S+ ", "", run.stdout)


def documents(source: Source, work: Path) -> Iterator[str]:
    """Cleaned texts of one source, in sorted file order."""
    if source.form == "bible":
        verses = bible_verses().splitlines()
        yield from ("\n".join(verses[i : i + 40]) for i in range(0, len(verses), 40))
        return
    folder = unpacked(source, work)
    for path in sorted({p for pattern in source.files for p in folder.glob(pattern) if p.is_file()}):
        if source.form == "python" and DROPPED_FOLDERS & set(path.relative_to(folder).parts):
            continue
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        text = raw.decode("utf8", errors="ignore").replace("\r\n", "\n")
        if source.form == "html":
            text = without_html(text)
        elif source.form == "man":
            text = without_roff(text)
        elif source.form == "dictd":
            entries = re.split(r"\n(?=\S)", text)
            yield from ("\n".join(e.strip() for e in entries[i : i + 20]) for i in range(0, len(entries), 20))
            continue
        elif source.package == "fortunes-zh":
            text = re.sub(r"\x1b\[[0-9;]*m", "", text)
            yield from (poem.strip() for poem in text.split("\n%"))
            continue
        yield text


def deduplicated(texts: list[str]) -> list[str]:
    """Texts without paragraphs (of 60 characters or more) that occurred before."""
    seen: set[bytes] = set()
    result = []
    for text in texts:
        kept = []
        for paragraph in text.split("\n\n") if "\n\n" in text else text.split("\n"):
            mark = hashlib.blake2b(paragraph.strip().encode(), digest_size=12).digest()
            if len(paragraph) >= 60 and mark in seen:
                continue
            seen.add(mark)
            kept.append(paragraph)
        joined = ("\n\n" if "\n\n" in text else "\n").join(kept).strip()
        if len(joined) > 80:
            result.append(joined)
    return result


def main() -> None:
    target = Path(sys.argv[1])
    (target / "heldout").mkdir(parents=True, exist_ok=True)
    for kind in ("english", "chinese", "code"):
        texts = [t for s in SOURCES if s.kind == kind for t in documents(s, target / "packages")]
        texts = deduplicated(texts)
        random.Random(0).shuffle(texts)
        data = "\n\n".join(texts).encode()
        cut = len(data) - HELD_OUT_BYTES
        cut = data.index(b"\n", cut) + 1
        (target / f"{kind}.txt").write_bytes(data[:cut])
        (target / "heldout" / f"{kind}.txt").write_bytes(data[cut:])
        print(f"{kind}: {len(texts)} documents, {cut / 1e6:.1f} MB to train, {(len(data) - cut) / 1e3:.0f} kB held out")


if __name__ == "__main__":
    main()
