"""One GET from servers that lie, trickle, flood, redirect, and sometimes answer."""

from __future__ import annotations

import gzip
import itertools
import socket

import pytest
from metrics_server import MetricsServer, reply

from specview.profilers.record.attaching.address import parsed_address
from specview.profilers.record.attaching.fetch import FetchFailed, Limits, fetch


@pytest.fixture
def server():
    with MetricsServer(lambda: "a 1\n") as server:
        yield server


def get(server, **given):
    return fetch(parsed_address(server.url), **given)


def refused(server, **given):
    """The one sentence of a page that cannot be had."""
    with pytest.raises(FetchFailed) as failed:
        get(server, **given)
    said = str(failed.value)
    assert said.isprintable() and said.endswith(".") and len(said) < 500
    return said


def raw(handler, data):
    """Send bytes as they are, then close."""
    handler.wfile.write(data)
    handler.close_connection = True


def behave(server, data):
    server.behave = lambda handler: raw(handler, data)


def test_a_page_is_asked_for_plainly_and_taken_whole(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    answer = get(server)
    assert (answer.body, answer.kind) == (b"a 1\n", "text/plain")
    ((path, headers),) = server.requests
    assert path == "/metrics"
    assert headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "specview",
        "accept": "text/plain; version=0.0.4",
        "accept-encoding": "identity",
        "connection": "close",
    }


def test_ipv6_works():
    try:
        server = MetricsServer(lambda: "a 1\n", host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with server:
        assert get(server).body == b"a 1\n"
        assert server.requests[0][1]["host"] == f"[::1]:{server.port}"


def test_a_redirect_to_another_host_is_refused_and_nothing_is_sent_there(server):
    with MetricsServer(lambda: "a 1\n") as other:
        place = f"{other.url}/metrics?key=secret"
        server.behave = lambda handler: reply(handler, "", 302, Location=place)
        said = refused(server)
        assert f"sends elsewhere to {other.url}/metrics;" in said
        assert "secret" not in said
        assert other.requests == []


def test_a_redirect_cannot_write_to_the_terminal(server):
    behave(server, b"HTTP/1.1 301 Moved\r\nLocation: http://x/\x1b]0;owned\x07[red]\r\nContent-Length: 0\r\n\r\n")
    assert "http://x/]0;owned[red]" in refused(server)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "wants a key (401)"),
        (403, "wants a key (403)"),
        (404, "start llama-server with --metrics or SGLang with --enable-metrics"),
        (501, "There is no metrics page"),
        (500, "look into the server's log"),
        (502, "look into the server's log"),
        (503, "is not ready (503); wait until"),
        (418, "refuses the question (418)"),
        (304, "sends elsewhere"),
        (204, "refuses the question (204)"),
    ],
)
def test_every_other_status_is_a_sentence_with_what_to_do(server, status, sentence):
    server.behave = lambda handler: reply(handler, "", status)
    assert sentence in refused(server)


def test_100_megabytes_are_not_taken(server):
    sent = []

    def flood(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(100):
            handler.wfile.write(b"x" * (1 << 20))
            sent.append(1)

    server.behave = flood
    assert "sends more than 4 MB" in refused(server)
    assert len(sent) < 100


def test_a_length_that_is_too_large_is_not_even_begun(server):
    behave(server, b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
    assert "sends more than 4 MB" in refused(server)


def test_headers_without_end_are_bounded(server):
    def headers(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in itertools.count():
            handler.wfile.write(f"X-{number}: {'y' * 1000}\r\n".encode())

    server.behave = headers
    assert "does not answer in HTTP" in refused(server)


def test_endless_continues_are_bounded(server):
    def continues(handler):
        while True:
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)

    server.behave = continues
    assert "sends more than 4 MB" in refused(server)


def test_chunks_that_trickle_for_ever_end_at_the_deadline(server):
    def trickle(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            handler.wfile.write(b"1\r\na\r\n")

    server.behave = trickle
    ticks = itertools.count()
    said = refused(server, limits=Limits(whole_s=50), clock=lambda: next(ticks))
    assert "did not answer within 50 seconds" in said


def test_a_silent_server_ends_at_the_deadline(server):
    release = []
    server.behave = lambda handler: release.append(handler.connection.recv(1))
    assert "did not answer within 0.05 seconds" in refused(server, limits=Limits(whole_s=0.05))


def test_compression_nobody_asked_for_is_refused_unread(server):
    bomb = gzip.compress(b"0" * 1_000_000)
    server.behave = lambda handler: reply(handler, bomb, Content_Encoding="gzip\x1b[31m")
    assert "answers compressed (gzip[31m)" in refused(server)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\na 1\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_no_answer(server, data):
    behave(server, data)
    assert "broke off" in refused(server)


def test_without_a_length_a_cut_last_line_is_left_out(server):
    behave(server, b"HTTP/1.0 200 OK\r\n\r\na 12345\nb 123")
    assert get(server).body == b"a 12345\n"


def test_chunks_are_put_together(server):
    behave(server, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na \r\n2;x=y\r\n1\n\r\n0\r\n\r\n")
    assert get(server).body == b"a 1\n"


@pytest.mark.parametrize(
    "data", [b"", b"hello\n", b"\x15\x03\x01\x00\x02\x02\x46", b"HTTP/1.1 abc OK\r\n\r\n", b"SSH-2.0-x\r\n"]
)
def test_what_is_no_http_says_so(server, data):
    behave(server, data)
    assert "does not answer in HTTP" in refused(server)


def test_a_bad_chunk_size_is_no_answer(server):
    behave(server, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\na\r\n")
    assert "broke off" in refused(server) or "does not answer in HTTP" in refused(server)


def test_nobody_there(server):
    server.close()
    assert "Nothing listens at" in refused(server)


def test_tls_asked_of_a_server_without():
    with MetricsServer(lambda: "a 1\n") as server:
        address = parsed_address(server.url.replace("http:", "https:"))
        with pytest.raises(FetchFailed, match="does not speak TLS"):
            fetch(address)


def test_an_unknown_name():
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(FetchFailed, match="not known by that name"):
        fetch(parsed_address("http://nowhere.invalid"), resolve=unknown)


def test_the_second_place_of_a_name_is_tried(server):
    def places(host, port, **_):
        there = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
        nobody = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))
        return [nobody, there]

    assert get(server, resolve=places).body == b"a 1\n"
