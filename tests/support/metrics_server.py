"""Metrics pages of other engines on loopback: counters that a test moves, and scripted failures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class MetricsServer:
    """A server on loopback. `answer` makes the body of each page; `behave` takes a whole request over where set."""

    def __init__(self, answer: Callable[[], str | bytes] = lambda: "", host: str = "127.0.0.1", port: int = 0) -> None:
        self.answer = answer
        self.behave: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.requests: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                with suppress(OSError):  # the client may leave at any time
                    if outer.behave is not None:
                        outer.behave(self)
                    else:
                        reply(self, outer.answer())

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass

        if ":" in host:
            import socket

            Server.address_family = socket.AF_INET6
        self._server = Server((host, port), Handler)
        self.port: int = self._server.server_address[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; the port refuses connections from then on."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.close()


def reply(
    handler: BaseHTTPRequestHandler, body: str | bytes, status: int = 200, kind: str = "text/plain", **headers: str
) -> None:
    """Send a whole answer; header names are written with _ for -."""
    data = body.encode() if isinstance(body, str) else body
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(data)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


class Vllm:
    """vLLM's page: tokens and rounds are counted as they come, decode times when a request has finished."""

    def __init__(self, model: str = "org/model", k: int = 2, drafts: bool = True) -> None:
        self.model, self.k, self.drafts = model, k, drafts
        self.rounds = self.generated = self.prompt = self.running = self.finished = self.decoded = 0
        self.by_position = [0] * k
        self.decode_seconds = 0.0
        self.born: float | None = None

    def restart(self) -> None:
        """Every counter at 0 again."""
        self.__init__(self.model, self.k, self.drafts)  # type: ignore[misc]

    def draft(self, rounds: int, *by_position: int) -> None:
        """So many rounds, and how many of them kept at least 1, 2, … drafts."""
        self.rounds += rounds
        self.by_position = [a + b for a, b in zip(self.by_position, by_position, strict=True)]
        self.generated += rounds + sum(by_position)

    def decode(self, tokens: int) -> None:
        """So many tokens without drafts."""
        self.generated += tokens

    def finish(self, tokens: int, seconds: float) -> None:
        """A request of so many tokens is over, the first of them out of its prompt."""
        self.finished += 1
        self.decoded += tokens
        self.decode_seconds += seconds

    def text(self) -> str:
        """The page."""
        own = f'{{engine="0",model_name="{self.model}"}}'
        lines = [
            "# HELP vllm:num_requests_running Number of requests in model execution batches.",
            "# TYPE vllm:num_requests_running gauge",
            f"vllm:num_requests_running{own} {float(self.running)}",
            f"vllm:prompt_tokens_total{own} {float(self.prompt)}",
            f"vllm:generation_tokens_total{own} {float(self.generated)}",
            f"vllm:generation_tokens_created{own} 1.7e+09",
            f"vllm:request_decode_time_seconds_sum{own} {self.decode_seconds}",
            f'vllm:request_decode_time_seconds_bucket{{le="0.3",model_name="{self.model}"}} 0.0',
            f"vllm:request_generation_tokens_sum{own} {float(self.decoded)}",
            f"vllm:request_generation_tokens_count{own} {float(self.finished)}",
        ]
        if self.born is not None:
            lines.append(f"process_start_time_seconds {self.born}")
        if self.drafts:
            lines += [
                "# TYPE vllm:spec_decode_num_drafts counter",
                f"vllm:spec_decode_num_drafts_total{own} {float(self.rounds)}",
                f"vllm:spec_decode_num_draft_tokens_total{own} {float(self.rounds * self.k)}",
                f"vllm:spec_decode_num_accepted_tokens_total{own} {float(sum(self.by_position))}",
            ]
            lines += [
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",model_name="{self.model}",'
                f'position="{position}"}} {float(count)}'
                for position, count in enumerate(self.by_position)
            ]
        return "\n".join(lines) + "\n"


class Sglang:
    """SGLang's page: tokens and verify calls are counted when a request has finished, the speed is a gauge."""

    def __init__(self, model: str = "org/model", positions: int = 4) -> None:
        self.model, self.positions = model, positions
        self.calls = self.generated = self.running = 0
        self.speed = self.length = 0.0

    def finish(self, tokens: int, calls: int) -> None:
        """A request of so many tokens, verified in so many calls, is over."""
        self.generated += tokens
        self.calls += calls

    def text(self) -> str:
        """The page; counters are there after the first request."""
        own = f'{{model_name="{self.model}"}}'
        rank = f'{{engine_type="unified",model_name="{self.model}",pp_rank="0",tp_rank="0"}}'
        lines = [
            f"sglang:num_running_reqs{rank} {float(self.running)}",
            f"sglang:gen_throughput{rank} {self.speed}",
            f"sglang:spec_accept_length{rank} {self.length}",
            f"sglang:spec_num_steps{rank} {float(self.positions - 1)}",
            f"sglang:spec_num_draft_tokens{rank} {float(self.positions)}",
        ]
        if self.generated:
            lines.append(f"sglang:generation_tokens_total{own} {float(self.generated)}")
        if self.calls:
            lines.append(f"sglang:spec_verify_calls_total{own} {float(self.calls)}")
        return "\n".join(lines) + "\n"


class LlamaServer:
    """llama-server's page: everything about a request is counted when it has finished."""

    def __init__(self, drafts: bool = True) -> None:
        self.drafts = drafts
        self.rounds = self.drafted = self.accepted = self.generated = self.running = 0
        self.by_position: list[int] = []
        self.decode_seconds = 0.0

    def finish(self, tokens: int, seconds: float, rounds: int = 0, drafted: int = 0, by_position: tuple = ()) -> None:
        """A request of so many tokens is over."""
        self.generated += tokens
        self.decode_seconds += seconds
        self.rounds += rounds
        self.drafted += drafted
        self.accepted += sum(by_position)
        kept = self.by_position + [0] * (len(by_position) - len(self.by_position))
        self.by_position = [count + (by_position[i] if i < len(by_position) else 0) for i, count in enumerate(kept)]

    def text(self) -> str:
        """The page."""
        lines = [
            f"llamacpp:tokens_predicted_total {self.generated}",
            f"llamacpp:tokens_predicted_seconds_total {self.decode_seconds}",
            f"llamacpp:requests_processing {self.running}",
        ]
        if self.drafts:
            lines += [
                f"llamacpp:spec_decode_num_drafts_total {self.rounds}",
                f"llamacpp:spec_decode_num_draft_tokens_total {self.drafted}",
                f"llamacpp:spec_decode_num_accepted_tokens_total {self.accepted}",
            ]
            lines += [
                f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{position}"}} {count}'
                for position, count in enumerate(self.by_position)
            ]
        return "\n".join(lines) + "\n"


class Hand:
    """A clock that a test moves, in nanoseconds."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def advance(self, seconds: float) -> None:
        """So many seconds go by."""
        self.ns += round(seconds * 1e9)
