"""An explanation as people read it: the same cells in Python, on a terminal and on a page."""

from dsnc.explanation.result import BIT, FEATURE, OTHER, TOP, Explanation, Term

Table = tuple[list[str], list[list[str]]]  # columns, and rows of cells; the last is the name
_UNSURE = 0.9  # bits that are less sure than this are named
_NAMED = 4  # of them, the least sure


def headline(explanation: Explanation) -> str:
    """Return the answer in one line."""
    answer = f"{explanation.label}, {_percent(explanation.probability)}"
    if explanation.runner_up is None:
        return f"{answer}: there is no other class"
    second, lead = explanation.candidates[1], explanation.lead
    other = f"{second.label}, {_percent(second.probability)}"
    if second.found:
        return f"{answer}, then {other}: ahead by {lead:.3g}"
    how = f"would be behind by {lead:.3g}" if lead >= 0 else f"would be ahead by {-lead:.3g}"
    return f"{answer}, the only candidate; the next, {other}, is too far from the code; it {how}"


def who_decided(explanation: Explanation) -> str:
    """Return which stage it was, in one line."""
    return f"decided by {'code and features' if explanation.second_stage else 'the code alone'}"


def code_line(explanation: Explanation) -> str:
    """Return the code and the bits that are least sure."""
    unsure = sorted(explanation.bits, key=lambda bit: bit.sureness)[:_NAMED]
    named = [f"{bit.number} ({_percent(bit.sureness)})" for bit in unsure if bit.sureness < _UNSURE]
    groups = [explanation.code[i : i + 8] for i in range(0, len(explanation.code), 8)]
    least = f"least sure: bit {', '.join(named)}" if named else "all bits are sure"
    return f"{' '.join(groups)}; {least}"


def candidate_table(explanation: Explanation) -> Table:
    """Return the candidates, best first; those without a second look have a first score only."""
    twice, rows = explanation.second_stage, []
    for each in explanation.candidates:
        looked_at = each.margin is not None or not twice
        margin = "" if each.margin is None else f"{each.margin:.3f}"
        score = f"{each.score:.3f}" if looked_at else ""
        name = f"{each.label}" if each.found else f"{each.label} (not a candidate)"
        cells = [_percent(each.probability), score, f"{each.first:.3f}", margin, name]
        rows.append(cells if twice else [*cells[:2], name])
    columns = ["probability", "score", "first stage", "second stage", "class"]
    return columns if twice else [*columns[:2], "class"], rows


def term_table(explanation: Explanation, top: int = TOP) -> Table:
    """Return the terms: the largest for and against, the sum of the others, constants, the lead."""
    shared = [term for term in explanation.terms if term.kind != OTHER]
    kept = [term for term in shared if term.value > 0][:top]
    kept += [term for term in shared if term.value <= 0][:top][::-1]
    if left := [term for term in shared if term not in kept]:
        kinds = {FEATURE: "features", BIT: "bits"}
        names = " and ".join(kinds[k] for k in kinds if any(term.kind == k for term in left))
        kept.append(_sum(f"{len(left):,} other {names}", left))
    kept += [term for term in explanation.terms if term.kind == OTHER]
    kept.append(_sum("total", kept))
    if not explanation.second_stage:
        return ["adds", "term"], [[f"{term.value:+.3f}", term.name] for term in kept]
    rows = [[*(f"{v:+.3f}" for v in (t.value, t.first, t.second)), t.name] for t in kept]
    return ["adds", "first stage", "second stage", "term"], rows


def as_lines(explanation: Explanation, top: int = TOP) -> list[str]:
    """Return everything in lines."""
    lines = [headline(explanation), who_decided(explanation), f"code {code_line(explanation)}", ""]
    lines += _aligned(*candidate_table(explanation))
    if explanation.terms:
        lines += ["", *_aligned(*term_table(explanation, top))]
    return lines


def _sum(name: str, terms: list[Term]) -> Term:
    return Term(name, OTHER, sum(t.first for t in terms), sum(t.second for t in terms))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _aligned(columns: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table: numbers to the right, the last column to the left."""
    lines = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)][:-1]
    cells = ([c.rjust(w) for c, w in zip(line, widths, strict=False)] for line in lines)
    return ["  ".join([*some, line[-1]]) for some, line in zip(cells, lines, strict=True)]
