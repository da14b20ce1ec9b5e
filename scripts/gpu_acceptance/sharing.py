"""Several processes on one device: of a stage, of clients of a shared model; versions that follow each other; seeds."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from scripts.gpu_acceptance import models
from scripts.gpu_acceptance.setting import Figures, Setting, StepFailed, demand

_REFRESHES: Final = 3
_MORE_MEMORY: Final = 1.05
_SHARED: Final = "beam_ensembles.handlers.support.shared_process"


def stage_processes(setting: Setting) -> Figures:
    """Scores rows in two processes of a stage.

    Raises:
        StepFailed: An answer is another than in one process.
    """
    from beam_ensembles import Ensemble
    from beam_ensembles.processes.process_count import PROCESSES_VARIABLE

    models.bert_classifier(setting.folder / "bert", setting.sizes)
    rows = [{"text": text} for text in models.texts(setting.sizes)[:256]]
    answers = {}
    for count in ("1", "2"):
        os.environ[PROCESSES_VARIABLE] = count
        file = models.ensemble(setting.folder, {"text": "string"}, models.text_classifier(setting))
        _forget_machine()
        with Ensemble(file) as loaded:
            answers[count] = [row["label"] for row in loaded.predict(rows)]
    del os.environ[PROCESSES_VARIABLE]
    demand(answers["1"] == answers["2"], "two processes give other labels than one")
    return {"rows": len(rows), **_memory_in_use(setting)}


def _forget_machine() -> None:
    from beam_ensembles.processes.machine import this_machine

    this_machine.cache_clear()


def shared_model(setting: Setting) -> Figures:
    """Scores rows in several processes that share one model.

    Raises:
        StepFailed: They give different answers, or there was more than one copy.
    """
    models.bert_classifier(setting.folder / "bert", setting.sizes)
    node = models.text_classifier(setting, config={"large_model": True})
    file = models.ensemble(setting.folder, {"text": "string"}, node)
    texts = setting.folder / "texts.json"
    texts.write_text(json.dumps(models.texts(setting.sizes)[:64]), encoding="utf-8")
    clients = [_client(file, texts) for _ in range(setting.sizes.clients)]
    counted = []
    for client in clients:
        client.stdout.readline()  # it has loaded the model
        counted.append(_shared_processes(str(file.parent)))
    answers = []
    for client in clients:
        said, _ = client.communicate("\n")
        if client.returncode:
            raise StepFailed(f"a client of the shared model ended with {client.returncode}")
        answers.append(json.loads(said.splitlines()[-1]))
    demand(all(one == answers[0] for one in answers), "clients of one model got different answers")
    demand(max(counted) == 1, f"{max(counted)} processes hold the model that is to be shared")
    return {"clients": len(clients), "copies": max(counted), **_memory_in_use(setting)}


def _client(file: Path, texts: Path) -> Any:
    command = [sys.executable, "-c", _CODE, str(file), str(texts)]
    env = {**os.environ, "TMPDIR": str(file.parent)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)


_CODE: Final = """
import json, sys
from beam_ensembles import Ensemble
with Ensemble(sys.argv[1]) as loaded:
    rows = [{"text": text} for text in json.load(open(sys.argv[2]))]
    loaded.predict(rows[:1])
    print("loaded", flush=True)
    sys.stdin.readline()
    print(json.dumps([row["label"] for row in loaded.predict(rows)]))
"""


def _shared_processes(folder: str) -> int:
    """Counts the processes of shared models that clients with this temporary folder have started."""
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command, variables = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            except OSError:  # it has ended
                continue
            found += _SHARED.encode() in command and f"TMPDIR={folder}\0".encode() in variables
    return found


def refreshes(setting: Setting) -> Figures:
    """Takes three new versions of a model; returns the device's memory after each.

    Raises:
        StepFailed: A version was not taken, or memory grows with each.
    """
    from beam_ensembles.execution.growing_stage import load_stage
    from beam_ensembles.local.scoring import columns_of, stage_of
    from beam_ensembles.processes.machine import this_machine
    from beam_ensembles.runtime.loading import files_of, graph_of_file
    from beam_ensembles.runtime.refresh import RefreshedStage, Watch

    models.bert_classifier(setting.folder / "bert", setting.sizes)
    file = models.ensemble(setting.folder, {"text": "string"}, models.text_classifier(setting))
    graph = graph_of_file(file)
    watch = Watch.of(graph, files_of(file), {}, str(file), interval=3_600)
    stage = RefreshedStage(
        stage_of(graph, columns_of(graph)), watch, lambda code: load_stage(code, this_machine())
    )
    used, digests = [], [stage.newest().digest]
    for number in range(_REFRESHES):
        _change_weights(setting.folder / "bert", number)
        stage.look()
        digests.append(stage.newest().digest)
        gc.collect()
        used.append(_allocated(setting))
    demand(
        len(set(digests)) == _REFRESHES + 1, f"{len(set(digests)) - 1} of {_REFRESHES} versions were taken"
    )
    if setting.has_gpu:
        demand(used[-1] <= used[-2] * _MORE_MEMORY, f"memory grows with each version: {used} bytes")
    return {"bytes_after_each": used}


def _change_weights(folder: Path, number: int) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    weights = load_file(path)
    name = min(weights)
    save_file({**weights, name: weights[name] + 0.01 * (number + 1)}, folder / "new", {"format": "pt"})
    os.replace(folder / "new", path)


def _allocated(setting: Setting) -> int:
    if setting.has_gpu:
        import torch

        return int(torch.cuda.memory_allocated())
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _memory_in_use(setting: Setting) -> dict[str, float]:
    if not setting.has_gpu:
        return {}
    import torch

    free, total = torch.cuda.mem_get_info()
    return {"device_gib_in_use": (total - free) / 2**30}


def seeds(setting: Setting) -> Figures:
    """Writes texts that are drawn with a seed, in another order and in other batches.

    Raises:
        StepFailed: A row's text depends on the rows beside it.
    """
    from beam_ensembles import Ensemble
    from tests.support.transformers_models import MAKERS

    MAKERS["gpt2"](setting.folder / "gpt2")
    rows = [{"text": f"the film was {word}"} for word in ("good", "bad", "great", "awful", "about sport")]
    node = {
        "model": "huggingface", "uri": "gpt2", "task": "text-generation", "device": setting.device, "seed": 7,
        "inputs": {"text": "text"}, "outputs": {"written": {"from": "text"}},
        "inference_args": {"do_sample": True, "max_new_tokens": 8},
    }  # fmt: skip
    with Ensemble(models.ensemble(setting.folder, {"text": "string"}, node)) as loaded:
        whole = {row["text"]: row["written"] for row in loaded.predict(rows)}
        single = {row["text"]: loaded.predict([row])[0]["written"] for row in reversed(rows)}
    demand(whole == single, "texts drawn with a seed differ between batches")
    return {"rows": len(rows), "different_texts": len(set(whole.values()))}
