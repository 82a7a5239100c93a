"""Every importer, by the kind that `--kind` names."""

from __future__ import annotations

from . import (
    aiperf,
    csv_table,
    dflash,
    llama_bench,
    llamacpp_log,
    llamacpp_metrics,
    llamacpp_server,
    mlx_dspark,
    mlx_lm_stream,
    mtplx,
    sglang_bench,
    sglang_log,
    sglang_meta,
    sglang_metrics,
    spec_bench,
    vllm_bench,
    vllm_log,
    vllm_metrics,
    vllm_requests,
)
from .imported import Importer

IMPORTERS: tuple[Importer, ...] = (
    *llamacpp_log.IMPORTERS,
    *llamacpp_server.IMPORTERS,
    *llamacpp_metrics.IMPORTERS,
    *llama_bench.IMPORTERS,
    *vllm_log.IMPORTERS,
    *vllm_metrics.IMPORTERS,
    *vllm_bench.IMPORTERS,
    *vllm_requests.IMPORTERS,
    *sglang_log.IMPORTERS,
    *sglang_metrics.IMPORTERS,
    *sglang_meta.IMPORTERS,
    *sglang_bench.IMPORTERS,
    *mlx_lm_stream.IMPORTERS,
    *mlx_dspark.IMPORTERS,
    *dflash.IMPORTERS,
    *mtplx.IMPORTERS,
    *aiperf.IMPORTERS,
    *spec_bench.IMPORTERS,
    *csv_table.IMPORTERS,
)


def kind_of(importer: Importer) -> str:
    """The name of its form as one word without capitals."""
    return importer.form.casefold().replace(" ", "-")


IMPORTER_BY_KIND: dict[str, Importer] = {kind_of(importer): importer for importer in IMPORTERS}
