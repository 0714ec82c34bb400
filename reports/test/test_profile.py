# SPDX-License-Identifier: MIT
"""A profile holds what is certain, and nothing else."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reports import answer, profile, schema, wordlist

IDENTITY = {"arch": "x86_64", "release": "6.1.0"}
PERSONAS = ("root", "perfmon", "user", "seccomp")


def result_of(points: dict[str, dict[str, str]],
              facts: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """A result with one probe, from persona -> point -> verdict."""
    personas = {}
    for persona, said in points.items():
        made = {name: answer.point(word, "" if word == "yes" else "why")
                for name, word in said.items()}
        probe = {"status": "done", "points": made, "facts": (facts or {}).get(persona, {})}
        personas[persona] = {"environment": {}, "probes": {"area.case": probe}}
    return {"format": 1, "kind": "result", "id": "0" * 16, "suite": "s", "identity": IDENTITY,
            "tool": {"name": "perfmodes", "version": "0.1.0", "catalogue": "0" * 12},
            "environment": {}, "personas": personas, "summary": {}, "unexpected": []}


def kernel_and(points: dict[str, str]) -> tuple[Any, dict[str, Any]]:
    made = profile.derive(result_of({persona: {"p": word} for persona, word in points.items()}))
    own = {name: part["area.case.p"] for name, part in made["personas"].items() if part}
    return made["kernel"].get("area.case.p"), own


def test_agreement_is_the_kernels() -> None:
    assert kernel_and({"root": "yes", "user": "yes"}) == ("yes", {})
    assert kernel_and({"root": "no", "user": "unknown"}) == ("no", {})
    assert kernel_and({"root": "broken", "user": "absent"}) == ("broken", {})


def test_blocked_stays_with_the_persona_and_is_never_no() -> None:
    assert kernel_and({"root": "yes", "user": "blocked"}) == ("yes", {"user": "blocked"})
    assert kernel_and({"root": "blocked", "user": "blocked"}) == (
        None, {"root": "blocked", "user": "blocked"})


def test_disagreement_is_the_personas() -> None:
    assert kernel_and({"root": "yes", "user": "no", "seccomp": "blocked"}) == (
        None, {"root": "yes", "user": "no", "seccomp": "blocked"})


def test_hazard_sticks() -> None:
    assert kernel_and({"root": "hazard", "user": "yes"}) == ("hazard", {})


def test_unknown_and_absent_leave_no_trace() -> None:
    assert kernel_and({"root": "unknown", "user": "absent"}) == (None, {})


def test_facts_agree_or_stay_apart_and_keep_their_type() -> None:
    facts = {"root": {"pages": 128, "there": True, "one": 1, "word": "unknown"},
             "user": {"pages": 64, "there": True, "one": True, "word": "unknown"}}
    made = profile.derive(result_of({"root": {}, "user": {}}, facts))
    assert made["kernel"] == {"area.case.there": True}
    assert made["personas"]["root"] == {"area.case.pages": 128, "area.case.one": 1}
    assert made["personas"]["user"] == {"area.case.pages": 64, "area.case.one": True}


def test_undeclared_points_stay_out() -> None:
    made = result_of({"root": {"p": "yes", "q": "yes"}})
    made["personas"]["root"]["probes"]["area.case"]["points"]["p"]["undeclared"] = True
    assert profile.derive(made)["kernel"] == {"area.case.q": "yes"}


POINTS = st.dictionaries(st.sampled_from(PERSONAS),
                         st.dictionaries(st.sampled_from("abcd"), st.sampled_from(wordlist.EVERY)),
                         min_size=1)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(POINTS)
def test_a_profile_never_says_more_than_its_evidence(points: dict[str, dict[str, str]]) -> None:
    made = profile.derive(result_of(points))
    assert schema.problems("profile", made) == []
    said: dict[str, set[str]] = {}
    for words in points.values():
        for name, word in words.items():
            said.setdefault(f"area.case.{name}", set()).add(word)
    for key, value in made["kernel"].items():
        assert value in said[key] and value in wordlist.OF_KERNEL
        assert value == "hazard" or said[key] & set(wordlist.CONCLUSIVE) == {value}
    for persona, part in made["personas"].items():
        for key, value in part.items():
            assert value == points[persona][key.rpartition(".")[2]]
            assert value not in ("unknown", "absent")
    for persona, words in points.items():
        for name, word in words.items():
            if word == "blocked":
                assert made["personas"][persona][f"area.case.{name}"] == "blocked"
