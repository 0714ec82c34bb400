# SPDX-License-Identifier: MIT
"""A result that is taken apart by its text is the one that a reader of JSON sees, whatever was done to the text."""

from __future__ import annotations

import random
from typing import Any

import pytest

from reports import answers, expect, text
from reports.database import pack, ship, texts, valid
from reports.database.test.conftest import make, sealed
from reports.text import Unusable

NAMES = {"root": {"hw.count.cycles": "broken"}, "user": {"task.two.moves": "blocked"}}


def result() -> dict[str, Any]:
    """With evidence, facts of each type, a probe without an exit status, and characters of two bytes."""
    made = make(personas=NAMES, reason="a \u20ac \" \\ z")
    probes = made["personas"]["root"]["probes"]
    probes["hw.count"] |= {"facts": {"b": True, "a": -3, "c": "\u00fc \"", "z.y": 0}, "leftover": 2, "warnings": ["one"]}
    probes["task.two"] = {"status": "crashed", "signal": 11, "facts": {}, "points": probes["task.two"]["points"]}
    return sealed(made)


def taken_apart(taken: pack.Taken) -> Any:
    """All that is written of a result."""
    return (taken.content_id, taken.head, {persona: (pack.unpack(taken.rest(persona)), [part.record for part, _loose in parts])
                                           for persona, parts in taken.parts.items()})


def of_json(said: str) -> Any:
    """What a reader of JSON makes of it; None where it is no result."""
    try:
        return taken_apart(valid.Checker().require(text.parse_json(said, "a text"), "a text"))
    except Unusable:
        return None


def test_it_is_the_same_as_by_its_values() -> None:
    checker = valid.Checker()
    for made in (result(), *(each for name in answers.names()[:2] for each in ship._results(name, expect.Expectations()))):
        said = text.dump_json(made)
        for _again in range(2):
            taken = checker.of_text(said)
            assert taken is not None and taken_apart(taken) == of_json(said)
            assert taken.content_id == made["id"]
        assert pack.unpack(taken.head) == {key: value for key, value in made.items() if key != "personas"}


def test_what_repeats_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checker, parsed = valid.Checker(), []
    monkeypatch.setattr(texts, "_alone", lambda members, _was=texts._alone: parsed.append(members) or _was(members))
    for second in range(5):
        assert checker.of_text(text.dump_json(make(started=f"2026-11-20T10:00:0{second}Z"))) is not None
    assert len(parsed) == 3 + 1 + 1     # the probes, the one fact, and the one text of times


def test_facts_in_another_company_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run has another time, and some facts of an earlier one."""
    checker, parsed = valid.Checker(), []
    monkeypatch.setattr(texts, "_alone", lambda members, _was=texts._alone: parsed.append(members) or _was(members))
    for pages, kind, took in ((1, "a", 3), (2, "b", 4), (1, "b", 4), (2, "a", 3)):
        made = make(personas={"root": {}})
        made["personas"]["root"]["probes"] = {"hw.count": made["personas"]["root"]["probes"]["hw.count"]
                                              | {"facts": {"pages": pages, "kind": kind}, "ms": took}}
        said = text.dump_json(sealed(made))
        taken = checker.of_text(said)
        assert taken is not None and taken_apart(taken) == of_json(said)
    assert len(parsed) == 1 + 2 * 3     # the probe, and each of the facts and times


def changed(said: str, chance: random.Random) -> str:
    """A text with lines left out, doubled, moved, joined, or with parts of other lines."""
    lines = said.split("\n")
    for _time in range(chance.randint(1, 3)):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(7):
            case 0:
                del lines[at:at + chance.randint(1, 3)]
            case 1:
                lines[at:at] = lines[other:other + chance.randint(1, 12)]
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at:at + 2] = ["".join(lines[at:at + 2])]
            case 4:
                lines[at] = lines[at].replace(chance.choice('",{}:[]0 '), chance.choice(['', '"', '}', '{', ',', '1', ' ', '\\u0041']), 1)
            case 5:
                lines[at] = lines[at].replace("facts", "points") if chance.random() < 0.5 else lines[at].replace("points", "facts")
            case _:
                lines[at] = lines[at][:1] + lines[at]
        lines = lines or [""]
    return "\n".join(lines)


def test_a_changed_text_means_what_a_reader_of_json_sees() -> None:
    said, chance, checker = text.dump_json(result()), random.Random(20261127), valid.Checker()
    known, cut = 0, 0
    for _time in range(3000):
        other = changed(said, chance)
        taken = checker.of_text(other)
        if taken is not None:
            cut += 1
            known += other == said
            assert taken_apart(taken) == of_json(other), other
    assert cut - known > 100    # of changes that leave a result


PROBE = '''    "hw.count": {
     "exit": 0,
     "facts": {},
     "ms": 3,
     "points": {
      "cycles": {
       "verdict": "yes"
      }
     },
     "status": "done"'''
ATTACKS = {
    "twice": PROBE + "\n    },\n" + PROBE.replace('"yes"', '"absent", "reason": "a"'),
    "a status before its facts": PROBE.replace('"exit": 0,', '"status": "crashed",\n     "exit": 0,'),
    "facts again at the end": PROBE + ',\n     "facts": {"a": 1}',
    "milliseconds again at the end": PROBE + ',\n     "ms": 4',
    "points among the facts": PROBE.replace('"ms": 3', '"points": {}'),
    "points that have a point of that name": PROBE.replace('"exit": 0,', '"points": {').replace('"facts": {}', '"facts": {"verdict": "yes"}'),
    "an object that ends early": PROBE.replace('"ms": 3', '"ms": 3}, "x.y": {"facts": {}'),
    "a name with an escape": PROBE.replace("hw.count", "hw.coun\\t"),
    "two facts in a line": PROBE.replace('"facts": {}', '"facts": {\n      "a": 1, "b": 2\n     }'),
    "a fact twice": PROBE.replace('"facts": {}', '"facts": {\n      "a": 1,\n      "a": 2\n     }'),
    "facts in another order": PROBE.replace('"facts": {}', '"facts": {\n      "b": 1,\n      "a": 2\n     }'),
    "facts that end in others": PROBE.replace('"facts": {}', '"facts": {\n      "a": 1\n     },\n     "facts": {"b": 2}'),
    "facts without a comma": PROBE.replace('"facts": {}', '"facts": {\n      "a": 1\n      "b": 2\n     }'),
    "a fact that has an escape": PROBE.replace('"facts": {}', '"facts": {\n      "\\u0061": "\\u0062"\n     }'),
    "half of a character": PROBE.replace('"verdict": "yes"', '"reason": "\\ud800",\n       "verdict": "absent"'),
    "half of a character in a fact": PROBE.replace('"facts": {}', '"facts": {\n      "a": "\\ud800"\n     }'),
    "a constant": PROBE.replace('"facts": {}', '"facts": {"a": NaN}'),
    "a fraction": PROBE.replace('"ms": 3', '"ms": 3.5'),
    "a string that ends in another": PROBE.replace('"facts": {}', '"facts": {"a": "b}').replace('"ms": 3', '"c": "d"'),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_looks_like_a_result(name: str) -> None:
    """Beside a result that is one, so that its pieces are known."""
    made = make(personas={"root": {}})
    made["personas"]["root"]["probes"] = {"x.x": {}}
    said = text.dump_json(made)
    begin, end = said.split('    "x.x": {}')
    checker = valid.Checker()
    assert checker.of_text(begin + PROBE + "\n    }" + end) is not None
    said = begin + ATTACKS[name] + "\n    }" + end
    taken = checker.of_text(said)
    assert taken is None or taken_apart(taken) == of_json(said)


def test_probes_are_where_a_result_has_them() -> None:
    """Not those of another place, where a text could stand for them while the rest is looked at."""
    made = make(personas={"root": {}})
    probes = text.dump_json(made).partition('   "probes": {')[2].partition("\n   }")[0]
    made["personas"]["root"]["probes"] = 7
    made["environment"]["probes"] = "x"
    assert valid.Checker().of_text(text.dump_json(made).replace(' "probes": "x"', f'\n   "probes": {{{probes}\n   }}')) is None
    made = make(personas={"root": {}}, environment={"probes": "x"})
    cut = texts.cut(text.dump_json(made))
    assert cut is not None and cut.value["environment"]["probes"] == "x" and cut.value["personas"]["root"]["probes"] == {}
