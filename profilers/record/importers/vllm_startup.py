"""What vLLM prints of its settings when it starts: the models, whether drafting is on, how many drafts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .model_names import name_without_path

_START = re.compile(r"Initializing an? (?:V\d )?LLM engine|vLLM API server version|non-default args")
_CONFIG = re.compile(r"speculative_config['\"]?\s*[=:]\s*(None|SpeculativeConfig\([^)]*\)|['\"]?\{[^}]*\})")
_K = re.compile(r"num_spec(?:ulative)?_tokens['\"\\]*\s*[=:]\s*(\d{1,3})\b")
_METHOD = re.compile(r"method['\"\\]*\s*[=:]\s*['\"\\]*([\w-]{1,40})")
_MODEL = re.compile(r"\bmodel['\"\\]*\s*[=:]\s*['\"\\]*([^'\",\s\\)}]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Startup:
    """One line about settings; `begins` when a server starts with it; `drafts` is None where it does not say."""

    begins: bool
    model: str | None = None
    drafts: bool | None = None
    drafter: str | None = None
    k: int | None = None


def startup_in(line: str) -> Startup | None:
    """Return the settings a line holds, None if it is about something else."""
    begins, config = _START.search(line) is not None, _CONFIG.search(line)
    if not begins and config is None:
        return None
    target = _MODEL.search(line if config is None else line.replace(config[0], ""))
    model = name_without_path(target[1]) if target else None
    if config is None:
        return Startup(begins=begins, model=model)
    if config[1] == "None":
        return Startup(begins=begins, model=model, drafts=False)
    k, method, head = _K.search(config[1]), _METHOD.search(config[1]), _MODEL.search(config[1])
    named = [method[1] if method else None, name_without_path(head[1]) if head and head[1] != "None" else None]
    return Startup(
        begins=begins,
        model=model,
        drafts=True,
        drafter=" ".join(part for part in named if part) or None,
        k=int(k[1]) if k else None,
    )
