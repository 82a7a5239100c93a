"""Where the training text comes from: packages, the files in them, and their licences.

Each source names one package of Debian or of the Python package index (or the
standard library of the Python that runs), the text kind it feeds, and the
licence under which its text may be used. Nothing else enters the corpus.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One licensed origin of text. `files` are glob patterns inside the unpacked package."""

    kind: str  # english, chinese, code
    origin: str  # debian, pypi, stdlib
    package: str
    files: tuple[str, ...]
    form: str  # plain, html, man, dictd, bible, python
    licence: str


SOURCES: tuple[Source, ...] = (
    Source("english", "debian", "python3.11-doc", ("**/_sources/**/*.txt",), "plain", "PSF-2.0 (examples 0BSD)"),
    Source("english", "debian", "debian-reference-en", ("**/*.en.html",), "html", "GPL-2.0-or-later"),
    Source("english", "debian", "dict-jargon", ("**/jargon.dict.dz",), "dictd", "public domain"),
    Source("english", "debian", "dict-devil", ("**/devil.dict.dz",), "dictd", "public domain"),
    Source("english", "debian", "bible-kjv-text", ("**/bible.data",), "bible", "public domain (1611 text)"),
    Source("chinese", "debian", "debian-reference-zh-cn", ("**/*.zh-cn.html",), "html", "GPL-2.0-or-later"),
    Source("chinese", "debian", "debian-edu-doc-zh-cn", ("**/*bookworm-manual.html",), "html", "GPL-2.0-or-later"),
    Source("chinese", "debian", "debian-faq-zh-cn", ("**/zh-cn/*.html",), "html", "GPL-2.0-or-later"),
    Source("chinese", "debian", "maint-guide-zh-cn", ("**/*.zh-cn.html",), "html", "GPL-2.0-or-later"),
    Source("chinese", "debian", "manpages-zh", ("**/zh_CN/**/*.gz",), "man", "GFDL-1.2-or-later"),
    Source("chinese", "debian", "libreoffice-help-zh-cn", ("**/text/**/*.html",), "html", "MPL-2.0"),
    Source(
        "chinese",
        "debian",
        "fortunes-zh",
        ("**/fortunes/tang300", "**/fortunes/song100"),
        "plain",
        "public domain (classical poems)",
    ),
    Source("code", "stdlib", "python", ("**/*.py",), "python", "PSF-2.0"),
    Source("code", "pypi", "Django==5.1.4", ("**/*.py",), "python", "BSD-3-Clause"),
    Source("code", "pypi", "networkx==3.4.2", ("**/*.py",), "python", "BSD-3-Clause"),
    Source("code", "pypi", "Flask==3.1.0", ("**/*.py",), "python", "BSD-3-Clause"),
    Source("code", "pypi", "rich==14.0.0", ("**/*.py",), "python", "MIT"),
)
