"""Every importer, by the kind that `--kind` names."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from .imported import Importer

_MODULES = (
    "llamacpp_log",
    "llamacpp_server",
    "llamacpp_metrics",
    "llama_bench",
    "vllm_metrics",
    "vllm_log",
    "vllm_bench",
    "vllm_requests",
    "sglang_metrics",
    "sglang_log",
    "sglang_meta",
    "sglang_bench",
    "mlx_lm_stream",
    "mlx_dspark",
    "dflash",
    "mtplx",
    "aiperf",
    "spec_bench",
    "csv_table",
)


def _kinds() -> dict[str, Importer]:
    found: dict[str, Importer] = {}
    for name in _MODULES:
        if find_spec(f"{__package__}.{name}") is None:
            continue
        for importer in import_module(f".{name}", __package__).IMPORTERS:
            found[importer.form.casefold().replace(" ", "-")] = importer
    return found


IMPORTER_BY_KIND = _kinds()
