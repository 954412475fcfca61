"""Runs pages of the documents one after another; torch and the like are imported once for all.

Reads a line of JSON for each page, ``{"code": ..., "folder": ...}``, and answers with one: the
traceback, or nothing. A page gets names, a folder and a `dsnc` of its own, so that none can live on
what another has imported or registered.
"""

import json
import os
import sys
import traceback


def run(code, folder):
    for name in [name for name in sys.modules if name.partition(".")[0] == "dsnc"]:
        if name != "dsnc._native":  # an extension is loaded once
            del sys.modules[name]
    os.environ["DSNC_HOME"] = os.path.join(folder, "home")
    os.chdir(folder)
    try:
        exec(compile(code, "page", "exec"), {"__name__": "page"})
    except BaseException:
        return traceback.format_exc()
    return ""


def main():
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for pages, and processes that they start
        for line in sys.stdin:
            answers.write(json.dumps(run(**json.loads(line))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
