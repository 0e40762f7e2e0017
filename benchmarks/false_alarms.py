"""How often a comparison of what did not change finds a change, and how often it finds one that was planted.

The steps of a real trace are drawn again, with replacement, into two sides: whatever differs between them is chance.
Of each of some hundred such pairs it is counted whether the step, or any term of a level, is called slower or faster.
Then one kind of work of the second side is made slower by a known share.

    .venv/bin/python benchmarks/false_alarms.py TRACE.json.gz [--pairs 200] [--steps 16]
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracelake.analysis.sides import Side, compare
from tracelake.lake import Lake

#: Shares by which a kernel is slowed down.
PLANTED = (0.01, 0.03, 0.10)


def main() -> None:
    """Print the shares of pairs with an alarm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--steps", type=int, default=16)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other.json"
        kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1}
        other.write_text(json.dumps({"traceEvents": [kernel | {"args": {"device": 0, "stream": 7}}]}))
        lake = Lake(Path(folder) / "lake", unsafe=True)
        lake.ingest(given.trace, other)
        draws = Draws(lake, lake.locate(given.trace), lake.locate("other"), given.steps)
        print(f"{given.trace.name}: {draws.blocks} blocks of steps, {given.steps} drawn a side, {given.pairs} pairs")
        alarms = Counter(level for nth in range(given.pairs) for level in {*draws.alarms(nth).values()})
        for level in ("step", "part", "category", "module", "operator"):
            print(f"unchanged: any {level} slower or faster in {100 * alarms[level] / given.pairs:.1f} % of pairs")
        cost_ids, name, share_pct, noise_pct = draws.steadiest()
        print(f"planted: {name}, {share_pct:.1f} % of the step, {noise_pct:.2f} % of noise")
        plans = [(f"{100 * share:.0f} % slower", "operator", name, cost_ids, 1 + share) for share in PLANTED]
        plans.append(("exposed communication doubled", "part", "communication", draws.ids("part = 'communication'"), 2))
        cause, ids, factor = draws.gap()
        plans.append((f"a gap of 5 % of the step added ({cause})", "category", f"idle/{cause}", ids, factor))
        for words, level, ending, planted, factor in plans:
            found = [draws.alarms(nth, planted, factor) for nth in range(given.pairs // 4)]
            terms = [[term for term, of in one.items() if of == level] for one in found]
            seen = sum(any(term.endswith(ending) for term in one) for one in terms)
            others = sum(any(not term.endswith(ending) for term in one) for one in terms)
            print(f"{words}: found in {100 * seen / len(found):.0f} % of pairs, "
                  f"another {level} in {100 * others / len(found):.0f} %")  # fmt: skip


class Draws:
    """Steps of one trace resampled into two sides, stored under the ids of two traces."""

    def __init__(self, lake: Lake, one: str, two: str, steps: int) -> None:
        """Take the costs of the first trace; of the second only the id is used."""
        self.store, self.one, self.two, self.steps = lake.store, one, two, steps
        self.run("CREATE TABLE all_costs AS FROM step_costs WHERE trace_id = $1", [one])
        self.run("CREATE TABLE all_blocks AS FROM step_blocks WHERE trace_id = $1", [one])
        [(self.blocks,)] = self.run("SELECT count(*) FROM all_blocks")
        self.run("CREATE TABLE drawn (trace_id VARCHAR, step_block BIGINT, of_block BIGINT)")
        self.run("CREATE TABLE planted (trace_id VARCHAR, cost_id BIGINT, factor DOUBLE)")
        self.run(
            "CREATE OR REPLACE VIEW step_costs AS SELECT drawn.trace_id, drawn.step_block, "
            "all_costs.* EXCLUDE (trace_id, step_block) "
            "REPLACE (CAST(round(exclusive_ns * coalesce(factor, 1)) AS BIGINT) AS exclusive_ns) "
            "FROM drawn JOIN all_costs ON all_costs.step_block = of_block LEFT JOIN planted "
            "ON planted.trace_id = drawn.trace_id AND planted.cost_id = all_costs.cost_id"
        )
        self.run(
            "CREATE OR REPLACE VIEW step_blocks AS SELECT drawn.trace_id, drawn.step_block, "
            "all_blocks.* EXCLUDE (trace_id, step_block) "
            "FROM drawn JOIN all_blocks ON all_blocks.step_block = of_block"
        )

    def run(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Run a query on the lake's own connection."""
        return self.store.rows(query, parameters)

    def steadiest(self) -> tuple[list[int], str, float, float]:
        """Return the operator that varies least between steps, among those that take a percent of them.

        The result has the ids of its kinds of work, its module and name, its share of the step in %, and the standard
        deviation of its time in %.
        """
        [row] = self.run(
            "SELECT list_distinct(flatten(list(ids))), any_value(name), "
            "100.0 * sum(ns) / (SELECT sum(dur_ns) FROM all_blocks) AS share_pct, "
            "100.0 * stddev_samp(ns) / avg(ns) AS noise_pct FROM (SELECT step_block, list(cost_id) AS ids, "
            "concat(module, '/', if(operator = '', kernel_name, operator)) AS name, sum(exclusive_ns) AS ns "
            "FROM all_costs WHERE part = 'compute' AND operator <> '' GROUP BY ALL) GROUP BY name "
            "HAVING share_pct > 1 AND count(*) = $1 ORDER BY noise_pct LIMIT 1",
            [self.blocks],
        )
        return row

    def ids(self, condition: str) -> list[int]:
        """Return the kinds of work for which a condition on step_costs holds."""
        return [one for (one,) in self.run(f"SELECT DISTINCT cost_id FROM all_costs WHERE {condition}")]

    def gap(self) -> tuple[str, list[int], float]:
        """Return the cause of most idle time, its kinds, and the factor that adds 5 % of a step to it."""
        [(cause, factor)] = self.run(
            "SELECT category, 1 + 0.05 * (SELECT sum(dur_ns) FROM all_blocks) / sum(exclusive_ns) FROM all_costs "
            "WHERE part = 'idle' GROUP BY category ORDER BY sum(exclusive_ns) DESC LIMIT 1"
        )
        return cause, self.ids(f"part = 'idle' AND category = '{cause}'"), factor

    def alarms(self, seed: int, planted: Sequence[int] = (), factor: float = 1) -> dict[str, str]:
        """Return the terms judged slower or faster, with their levels."""
        dice = random.Random(seed)
        rows = [(one, nth, dice.randrange(self.blocks)) for one in (self.one, self.two) for nth in range(self.steps)]
        self.run("DELETE FROM drawn")
        self.run("DELETE FROM planted")
        self.run("INSERT INTO drawn VALUES " + ", ".join(f"('{one}', {nth}, {block})" for one, nth, block in rows))
        for one in planted:
            self.run("INSERT INTO planted VALUES ($1, $2, $3)", [self.two, one, factor])
        answer = compare(self.store, [Side("before", (self.one,)), Side("after", (self.two,))], anyway=True)
        return dict(answer.terms.filter("verdict IN ('slower', 'faster')").select("term, level").fetchall())


if __name__ == "__main__":
    main()
