"""The BLAS that MLX multiplies with on the CPU: which one, what it makes of n positions, how to switch it."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

from .load import Run, output_of, text_of

Kind = Literal["reference", "openblas", "mkl", "accelerate", "unknown"]
Judgement = Literal["n times", "between", "flat"]

Name = TypeVar("Name", int, str)

WIDTHS = (1, 2, 4, 8)
INSTALL = "apt-get install -y libopenblas0-pthread"

# Where distributions and hand-made builds put it; a 64-bit-integer build (libopenblas64) has another ABI.
_PLACES = (
    "/usr/lib/*/openblas*/libopenblas.so.0",
    "/usr/lib/*/libopenblas.so.0",
    "/usr/lib64/libopenblas*.so.0",
    "/usr/local/lib*/libopenblas.so*",
    "/opt/OpenBLAS/lib/libopenblas.so*",
)
_USABLE = re.compile(r"libopenblas[po]?(-r[\d.]+)?\.so(\.\d+)*")


@dataclass(frozen=True, slots=True)
class Blas:
    """The library that holds the `cblas_sgemm` MLX calls.

    `name` is for people ("OpenBLAS 0.3.21"); `library` is a file name
    without its folder; `threads` and `core` (the kernels it chose) are None
    when the library does not tell; `preloaded` says that LD_PRELOAD put it
    there.
    """

    name: str
    kind: Kind
    library: str | None = None
    threads: int | None = None
    core: str | None = None
    preloaded: bool = False


@dataclass(frozen=True, slots=True)
class WidthCurve:
    """Median ns of one product at each number of positions, ascending; the first width is 1."""

    medians_ns: tuple[tuple[int, float], ...]

    def ratio(self, width: int) -> float:
        """T(width) ÷ T(1). KeyError for a width that was not measured."""
        ns_by_width = dict(self.medians_ns)
        return ns_by_width[width] / ns_by_width[1]

    @property
    def cost_per_position(self) -> float:
        """What one position more costs, in products of one position: 1 reads all weights again, 0 is free.

        The median over the widths of (T(n)/T(1) − 1) ÷ (n − 1), so that one disturbed width decides nothing.
        """
        return statistics.median((self.ratio(width) - 1) / (width - 1) for width, _ in self.medians_ns if width > 1)

    @property
    def judgement(self) -> Judgement:
        """`n times` from 0.75 a position on, `flat` up to 0.12; fp16 (0.23) and bf16 (0.43) lie between."""
        cost = self.cost_per_position
        return "n times" if cost >= 0.75 else "flat" if cost <= 0.12 else "between"


def width_curve(
    product: Callable[[int], object],
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
    widths: Sequence[int] = WIDTHS,
    repeats: int = 9,
) -> WidthCurve:
    """Time `product(n)`, which must have finished when it returns, at all `widths`, 1 and others, in turn."""
    works = {width: partial(product, width) for width in sorted(widths)}
    return WidthCurve(tuple(medians_in_turn(works, clock=clock, repeats=repeats).items()))


def medians_in_turn(
    works: Mapping[Name, Callable[[], object]],
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
    repeats: int = 9,
) -> dict[Name, float]:
    """Median ns of each work; they take turns, so that a machine that slows down slows all of them.

    One turn before the first timed one warms up.
    """
    samples: dict[Name, list[int]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(repeats):
        for name, work in works.items():
            start = clock()
            work()
            samples[name].append(clock() - start)
    return {name: float(statistics.median(times)) for name, times in samples.items()}


def float_product(size: int, dtype: str = "float32", *, chained: int = 1) -> Callable[[int], object]:
    """`[n, size] x [size, size]` on MLX's default device, evaluated `chained` times in one graph.

    Without chaining the time of a product on a GPU is the time of a submission.
    """
    import mlx.core as mx

    kind: mx.Dtype = getattr(mx, dtype)
    keys = mx.random.split(mx.random.key(0), 2)
    weights = (mx.random.normal((size, size), key=keys[0]) * size**-0.5).astype(kind)
    inputs = mx.random.normal((max(WIDTHS), size), key=keys[1]).astype(kind)
    rows = {n: mx.contiguous(inputs[:n]) for n in WIDTHS}
    mx.eval(weights, *rows.values())

    def product(n: int) -> object:
        x = rows[n]
        for _ in range(chained):
            x = x @ weights
        mx.eval(x)
        return x

    return product


def quantised_product(size: int, scales: str = "float32", *, chained: int = 1) -> Callable[[int], object]:
    """The same with weights of 4 bits in groups of 64, and activations and scales of one dtype."""
    import mlx.core as mx

    kind: mx.Dtype = getattr(mx, scales)
    keys = mx.random.split(mx.random.key(0), 2)
    weights, *rest = mx.quantize(mx.random.normal((size, size), key=keys[0]) * size**-0.5, 64, 4)
    scale, bias = (array.astype(kind) for array in rest)
    inputs = mx.random.normal((max(WIDTHS), size), key=keys[1]).astype(kind)
    rows = {n: mx.contiguous(inputs[:n]) for n in WIDTHS}
    mx.eval(weights, scale, bias, *rows.values())

    def product(n: int) -> object:
        x = rows[n]
        for _ in range(chained):
            x = mx.quantized_matmul(x, weights, scale, bias, transpose=True, group_size=64, bits=4)
        mx.eval(x)
        return x

    return product


def blas_in_use(
    *,
    system: str = sys.platform,
    bound: Callable[[], str | None] | None = None,
    maps: Callable[[], str | None] = lambda: text_of("/proc/self/maps"),
    environ: Mapping[str, str] = os.environ,
    ask: Callable[[str], tuple[str | None, int | None, str | None]] | None = None,
) -> Blas:
    """The BLAS of this process, after importing MLX; kind `unknown` when it cannot be told.

    `bound` gives the file whose `cblas_sgemm` MLX gets from the dynamic
    linker; `maps` is looked at when that fails; `ask` gives version, threads
    and core of an OpenBLAS. On macOS it is Accelerate.
    """
    if system == "darwin":
        return Blas("Accelerate", "accelerate")
    preload = environ.get("LD_PRELOAD", "")
    path = (bound or bound_library)() or library_in_maps(maps() or "", preload)
    if path is None:
        return Blas("unknown", "unknown")
    version, threads, core = (ask or ask_openblas)(path)
    kind = "openblas" if version else kind_of(path)
    file = PurePosixPath(path).name
    names = {
        "reference": "reference BLAS (netlib)",
        "openblas": version or "OpenBLAS",
        "mkl": "MKL",
        "accelerate": "Accelerate",
        "unknown": file,
    }
    return Blas(names[kind], kind, file, threads, core, file in _preloaded(preload))


def bound_library() -> str | None:
    """The file whose `cblas_sgemm` libmlx gets: the first in the process, else the one libmlx asks for.

    None when MLX or the symbol is not there, or the system is not Linux.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        import mlx.core as mx
    except ImportError:
        return None
    library = Path(mx.__file__).parent / "lib" / "libmlx.so"
    scopes = [None, str(library)] if library.exists() else [None]
    for scope in scopes:
        try:
            symbol = ctypes.CDLL(scope).cblas_sgemm
        except (OSError, AttributeError):
            continue
        return _file_of(ctypes.cast(symbol, ctypes.c_void_p))
    return None


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _file_of(address: ctypes.c_void_p) -> str | None:
    info = _DlInfo()
    if not ctypes.CDLL(None).dladdr(address, ctypes.byref(info)) or not info.file:
        return None
    return os.path.realpath(os.fsdecode(info.file))


def ask_openblas(path: str) -> tuple[str | None, int | None, str | None]:
    """Version, threads and core of an OpenBLAS that is loaded from `path`; all None when it is not one."""
    try:
        library = ctypes.CDLL(path)
        config, core = library.openblas_get_config, library.openblas_get_corename
        config.restype = core.restype = ctypes.c_char_p
        version = re.match(r"OpenBLAS [\w.]+", config().decode("ascii", "replace"))
        threads = int(library.openblas_get_num_threads())
        return version[0] if version else "OpenBLAS", threads, core().decode("ascii", "replace")
    except (OSError, AttributeError):
        return None, None, None


def library_in_maps(maps: str, preload: str = "") -> str | None:
    """The BLAS MLX most likely uses, from the text of /proc/self/maps: a preloaded one, else a bundled one.

    NumPy and SciPy bring an OpenBLAS of their own with renamed symbols,
    which says nothing about MLX.
    """
    lines = (line.split(maxsplit=5) for line in maps.splitlines())
    paths = dict.fromkeys(words[5].strip() for words in lines if len(words) == 6)
    blas = [
        path
        for path in paths
        if re.match(r"lib(\w*blas|mkl_rt|mkl_core)", PurePosixPath(path).name)
        and not re.search(r"/(numpy|scipy)\.libs/|libscipy_openblas", path)
    ]
    ahead = _preloaded(preload)
    for wanted in (lambda path: PurePosixPath(path).name in ahead, lambda path: "/mlx" in path):
        if found := next(filter(wanted, blas), None):
            return found
    return blas[0] if blas else None


def _preloaded(preload: str) -> set[str]:
    paths = [path for path in re.split(r"[ :]+", preload) if path]
    return {PurePosixPath(path).name for item in paths for path in (item, os.path.realpath(item))}


def kind_of(path: str) -> Kind:
    """What a library is by its file and the folder it lies in (Debian's `openblas-pthread/libblas.so.3`)."""
    name = "/".join(PurePosixPath(path).parts[-2:]).lower()
    if "openblas" in name:
        return "openblas"
    if "mkl" in name:
        return "mkl"
    if "accelerate" in name or "veclib" in name:
        return "accelerate"
    if re.search(r"blis|atlas|flame|armpl|nvpl", name):
        return "unknown"
    return "reference" if PurePosixPath(path).name.startswith(("libblas", "libcblas", "librefblas")) else "unknown"


def installed_openblas(
    *,
    run: Run = output_of,
    glob: Callable[[str], Iterable[str]] | None = None,
    machine: str | None = None,
) -> str | None:
    """A libopenblas on this machine that can be preloaded, None when there is none."""
    machine = machine or platform.machine()
    find = glob or (lambda pattern: sorted(str(path) for path in Path("/").glob(pattern.lstrip("/"))))
    found = [path for pattern in _PLACES for path in find(pattern)]
    tag = {"x86_64": "x86-64", "aarch64": "AArch64"}.get(machine, "")
    lines = (run(["ldconfig", "-p"]) or "").splitlines()
    found.extend(line.rpartition(" => ")[2].strip() for line in lines if tag in line and " => " in line)
    return next((path for path in found if _fits(path, machine)), None)


def _fits(path: str, machine: str) -> bool:
    folder = re.match(r"/usr/lib/([^/]+-linux-gnu\w*)/", path)
    ours = folder is None or folder[1].startswith(machine)
    return ours and _USABLE.fullmatch(PurePosixPath(path).name) is not None


def switch_command(openblas: str | None, arguments: str = "…") -> str:
    """How to start specview on OpenBLAS; with None, how to install that on Debian and Ubuntu first."""
    if openblas is None:
        return f"{INSTALL}  (elsewhere: the package openblas), then run specview doctor again"
    return f"LD_PRELOAD={openblas} OPENBLAS_NUM_THREADS=1 specview {arguments}"
