"""The tutorial, typed by hand: each block in its order, commands in a shell, the service real."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


def steps_of(text):
    """Return (language, code) of all blocks but the one that installs."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [(language, code) for language, code in blocks if "pip install" not in code]


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def script_of(text):
    """Return the whole tutorial as a script of the shell; Python sees what it made before."""
    lines, known = ["set -eu", "trap 'echo the end: $?' EXIT"], ""
    for language, code in steps_of(text):
        if language == "bash":
            lines.append(code)
        else:
            lines += [
                f"cat > step.py <<'END OF STEP'\n{known}{code}\nEND OF STEP",
                "python step.py",
            ]
            known += "".join(
                re.findall(r"^(?:import .*\n|url = .*\n|token = .*\n)", code, re.MULTILINE)
            )
    return "\n".join(lines).replace("8000", str(free_port()))


def test_every_block_does_what_it_says(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    assert {language for language, _ in steps_of(text)} == {"bash", "python"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        ["bash", "-c", script_of(text)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,  # so that the service ends with the rest
    ) as process:
        said = []
        try:
            for line in process.stdout:
                said.append(line)
                if line.startswith("the end: "):
                    break
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert said[-1:] == ["the end: 0\n"], "".join(said)[-3000:]
    assert (tmp_path / "model.html").stat().st_size > 10_000
    assert any("harbor nurse" in line for line in said)
