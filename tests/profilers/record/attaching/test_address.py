"""Addresses: what is asked for where, and what is refused before anything is sent."""

from __future__ import annotations

import pytest

from specview.profilers.record.attaching.address import AddressError, parsed_address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://localhost:8000", "http://localhost:8000/metrics"),
        ("http://localhost:8000/", "http://localhost:8000/metrics"),
        ("localhost:8000", "http://localhost:8000/metrics"),
        ("127.0.0.1", "http://127.0.0.1/metrics"),
        ("https://host/inner/metrics", "https://host/inner/metrics"),
        ("https://host:443", "https://host/metrics"),
        ("http://[::1]:8080", "http://[::1]:8080/metrics"),
        ("http://[fe80::1%eth0]:8080/m", "http://[fe80::1]:8080/m"),
        ("  http://HOST:1/m  ", "http://host:1/m"),
        ("http://bücher.example", "http://xn--bcher-kva.example/metrics"),
        ("http://host/mé", "http://host/m%C3%A9"),
    ],
)
def test_an_address_without_path_is_that_of_the_metrics_page(text, shown):
    assert parsed_address(text).shown == shown


def test_a_query_is_asked_and_never_shown():
    address = parsed_address("http://localhost:8080?model=org/name&key=secret")
    assert address.target == "/metrics?model=org/name&key=secret"
    assert "secret" not in address.shown


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not empty"),
        ("http://a b", "no blanks"),
        ("http://host/\r\nX: y", "no blanks"),
        ("http://host\x1b[31m", "no blanks"),
        ("ftp://host", "http and https only"),
        ("file:///etc/passwd", "http and https only"),
        ("http://user:secret@host", "sends no passwords"),
        ("http://host:99999", "is no address"),
        ("http://host:0", "names no server"),
        ("http://:80", "names no server"),
        ("http://[::1", "is no address"),
        ("http://" + "a" * 3000, "is none"),
        ("http://" + "ü" * 300, "is no name of a server"),
    ],
)
def test_what_is_no_address_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(AddressError) as refused:
        parsed_address(text)
    said = str(refused.value)
    assert sentence in said
    assert said.isprintable() and len(said) < 400
    assert "secret" not in said
