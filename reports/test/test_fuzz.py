# SPDX-License-Identifier: MIT
"""Whatever the bytes, the readers answer: no exception, no lie, nothing a terminal obeys."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reports import catalogue, declaration, environment, ktap, schema, text, verdict, wordlist

QUICK = settings(max_examples=200, deadline=None, derandomize=True,
                 suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

DECLARED = catalogue.parse(
    "id=area.case\ntitle=t\nsince=4.7\npoint=a x\npoint=v.b x\nfact=f verdict - x\n"
    "fact=n int - x\nfact=s string - x\nfact=e enum p|q x\nfact=t bool - x\n").probes["area.case"]

PIECES = [b"TAP version 13\n", b"KTAP version 1\n", b"1..2\n", b"1..0 # SKIP no: x\n", b"1..1\n",
          b"ok 1 global.a\n", b"ok 2 x.v.b\n", b"not ok 2 x.v.b\n", b"ok 1 # SKIP no: EINVAL\n",
          b"ok 2 global.a # SKIP blocked: p\n", b"  ok 1 in\n", b"    1..9\n", b"ok", b"not ok 1",
          b"#  RUN           global.a ...\n", b"#  RUN           x.v.b ...\n", b"# SKIP",
          b"#:perfmodes: f=no: x\n", b"#:perfmodes: f=yes\n", b"#:perfmodes: n=0x7f\n",
          b"#:perfmodes: s=\xff\x1b[2J\n", b"#:perfmodes: t=maybe\n", b"#:perfmodes: observed=1\n",
          b"# a: Test terminated by timeout\n", b"# f.c:3:a:Expected 1 == 2\n", b"Bail out! x\n",
          b"\0", b"\x9b", b"\xe2\x80\xae", b"\n", b"\r\n", b" ", b"#"]
FOOTER = b"#:launch: exit=%d signal=%d ms=5 timeout=%d truncated=%d leftover=%d bytes=%d\n"


@st.composite
def outputs(draw: st.DrawFn) -> bytes:
    piece = st.one_of(st.sampled_from(PIECES), st.binary(max_size=30))
    body = b"".join(draw(st.lists(piece, max_size=25)))
    if not draw(st.booleans()):
        return body
    bit = st.integers(0, 1)
    size = draw(st.integers(0, len(body) + 2))
    return body + FOOTER % (draw(st.integers(0, 5)), draw(st.sampled_from([0, 9])), draw(bit),
                            draw(bit), draw(bit), size)


def result_of(record: dict) -> dict:
    """The least result around a record."""
    empty = dict.fromkeys(wordlist.EVERY, 0)
    return {"format": 1, "kind": "result", "id": "0" * 16, "suite": "s",
            "tool": {"name": "perfmodes", "version": "1", "catalogue": "0" * 12},
            "identity": {"arch": "a", "release": "1"}, "environment": {},
            "personas": {"root": {"environment": {}, "probes": {"area.case": record}}},
            "summary": {"root": empty}, "unexpected": []}


@QUICK
@given(outputs())
def test_any_output_makes_a_valid_record(data: bytes) -> None:
    said = ktap.parse(data)
    record = verdict.judge(said, DECLARED).as_json()
    assert schema.problems("result", result_of(record)) == []
    assert {"a", "v.b", "f"} <= record["points"].keys()


@QUICK
@given(outputs())
def test_without_a_whole_footer_nothing_is_settled(data: bytes) -> None:
    said = ktap.parse(data)
    record = verdict.judge(said, DECLARED)
    if said.footer is None or said.footer["truncated"]:
        assert {point["verdict"] for point in record.points.values()} == {"unknown"}
        assert record.facts == {}


@QUICK
@given(outputs(), st.integers(0, 400))
def test_a_cut_file_never_says_what_the_whole_did_not(data: bytes, cut: int) -> None:
    whole = verdict.judge(ktap.parse(data), DECLARED)
    part = verdict.judge(ktap.parse(data[:cut]), DECLARED)
    for name, point in part.points.items():
        assert point["verdict"] in ("unknown", whole.points.get(name, point)["verdict"])


@QUICK
@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(
    [b"arch=x\n", b"release=1\n", b"a=\n", b"=b\n", b"a.b=c=d\n", b"\n"])), max_size=20))
def test_any_env_file_is_read(parts: list[bytes]) -> None:
    found = environment.parse(b"".join(parts), "env")
    for values in found.values.values():
        assert values and not any(text._UNSAFE.search(value) for value in values)
    assert set(found.rest()).isdisjoint(found.identity())


@QUICK
@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(
    [b"id=a.b\n", b"title=t\n", b"since=4.7\n", b"point=a b\n", b"fact=f int - x\n", b"\n",
     b"needs=pmu\n", b"commit=0123456789ab\n", b"fact=f verdict\n"])), max_size=25))
def test_any_catalogue_is_read_or_its_mistakes_named(parts: list[bytes]) -> None:
    found = catalogue.parse_bytes(b"".join(parts))
    if found.problems == []:
        assert schema.problems("catalogue", catalogue.as_json(found)) == []
    for probe in found.probes.values():
        assert declaration.PROBE_ID.fullmatch(probe.id)
        assert len({item.name for item in probe.items}) == len(probe.items)


@QUICK
@given(st.text(st.one_of(st.characters(), st.characters(
    whitelist_categories=["Cc", "Cf", "Cs", "Zl"])), max_size=200))
def test_cleaned_text_is_harmless_and_stays_so(said: str) -> None:
    cleaned = text.clean(said)
    assert not text._UNSAFE.search(cleaned) and text.clean(cleaned) == cleaned
    row = text.markdown(said)
    assert "\n" not in row and "|" not in row.replace("\\|", "")
    written = text.dump_json({said: [said]})
    assert json.loads(written) == json.loads(json.dumps({said: [said]}))
    assert not text._UNSAFE.search(written.replace("\n", "")) and written.encode()


def test_an_address_in_a_markdown_cell_is_no_link() -> None:
    said = text.markdown("see https://x.y/ or www.x.y: a:b")
    assert said == "see https\\://x.y/ or www\\.x.y: a:b"
