"""Templates and generators in reference documents."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnizarr.errors import MetadataError
from omnizarr.stores import ReferenceStore
from omnizarr.stores.references.json import Document, FileSpan
from omnizarr.stores.references.template import DEEPEST, LONGEST, Budget, integer, render

# The example of kerchunk's own description.
EXAMPLE = {
    "version": 1,
    "templates": {"u": "server.domain/path", "f": "{{c}}"},
    "gen": [
        {
            "key": "gen_key{{i}}",
            "url": "http://{{u}}_{{i}}",
            "offset": "{{(i + 1) * 1000}}",
            "length": "1000",
            "dimensions": {"i": {"stop": 5}},
        }
    ],
    "refs": {
        "key0": "data",
        "key1": ["http://target_url", 10000, 100],
        "key2": ["http://{{u}}", 10000, 100],
        "key3": ["http://{{f(c='text')}}", 10000, 100],
        "key4": ["http://target_url"],
    },
}


def test_the_example() -> None:
    document = Document(EXAMPLE)
    assert document.get("key0") == b"data"
    assert document.get("key1") == FileSpan("http://target_url", 10000, 100)
    assert document.get("key2") == FileSpan("http://server.domain/path", 10000, 100)
    assert document.get("key3") == FileSpan("http://text", 10000, 100)
    assert document.get("key4") == FileSpan("http://target_url", 0, None)
    for i in range(5):
        place = FileSpan(f"http://server.domain/path_{i}", (i + 1) * 1000, 1000)
        assert document.get(f"gen_key{i}") == place
    assert list(document.keys("gen")) == [f"gen_key{i}" for i in range(5)]
    changed = Document(EXAMPLE, {"u": "elsewhere"})
    assert changed.get("key2") == FileSpan("http://elsewhere", 10000, 100)


def test_dimensions() -> None:
    generator = {
        "key": "{{name}}/{{y}}.{{x}}",
        "url": "{{ '%03d' % y }}-{{ '%s_%02d' | format(name, x) }}.bin",
        "offset": "{{ (y * 3 + x) * 10 - 5 + 5 }}",
        "length": 10,
        "dimensions": {
            "name": ["a", "b"],
            "y": {"start": 2, "stop": 8, "step": 2},
            "x": [0, 7],
        },
    }
    document = Document({"version": 1, "gen": [generator]})
    keys = list(document.keys(""))
    assert keys == sorted(f"{n}/{y}.{x}" for n in "ab" for y in (2, 4, 6) for x in (0, 7))
    assert document.get("b/4.7") == FileSpan("004-b_07.bin", 190, 10)


NAMES = {"i": 7, "j": -3, "text": "abc"}


@st.composite
def arithmetic(draw: st.DrawFn, depth: int = 0) -> str:
    if depth > 3 or draw(st.booleans()):
        return draw(st.sampled_from(["i", "j", "0", "1", "23", "1000"]))
    left, right = draw(arithmetic(depth + 1)), draw(arithmetic(depth + 1))
    sign = draw(st.sampled_from(["+", "-", "*", "//", "%", " + ", " - "]))
    expression = f"{left}{sign}{right}"
    return f"({expression})" if draw(st.booleans()) else expression


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(arithmetic())
def test_arithmetic_is_that_of_python(expression: str) -> None:
    try:
        expected = str(eval(expression, {}, dict(NAMES)))
    except ZeroDivisionError:
        with pytest.raises(MetadataError, match="division by zero"):
            render("{{" + expression + "}}", NAMES, Budget())
        return
    assert render("{{" + expression + "}}", NAMES, Budget()) == expected


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="{}i+-*/%()'\"|=, 19abcformat_.[]\\", max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    with contextlib.suppress(MetadataError):
        assert len(render("{{" + text + "}}", NAMES, Budget())) < 3 * LONGEST


@pytest.mark.parametrize(
    "text",
    [
        "{{",
        "{{}}",
        "{{i",
        "{{unknown}}",
        "{{i.__class__}}",
        "{{text[0]}}",
        "{{text.upper()}}",
        "{{i if i else j}}",
        "{{[1]}}",
        "{{i ** 9}}",
        "{{i / 2}}",
        "{{1 2}}",
        "{{i +}}",
        "{{(i}}",
        "{{i)}}",
        "{{text + 1}}",
        "{{text * 5}}",
        "{{1 % 0}}",
        "{{'%d' % text}}",
        "{{'%d%d' | format(i)}}",
        "{{'%d' | format(i, j)}}",
        "{{i | format(i)}}",
        "{{i | upper}}",
        "{{text(1)}}",
        "{{text(c=)}}",
        "{% for i in x %}",
        "{{9" + "9" * 30 + "}}",
        "{{" + "9223372036854775807*" * 2 + "2}}",
        "{{" + "(" * 40 + "1" + ")" * 40 + "}}",
        "{{" + "-" * 40 + "1}}",
        "{{" + "1+" * 5000 + "1}}",
    ],
)
def test_what_is_refused(text: str) -> None:
    if text == "{% for i in x %}":
        assert render(text, NAMES, Budget()) == text  # not ours to understand: plain text
        return
    with pytest.raises(MetadataError):
        render(text, NAMES, Budget())


def test_templates_in_templates_are_bounded() -> None:
    assert render("{{a}}", {"a": "{{b}}/x", "b": "y"}, Budget()) == "y/x"
    with pytest.raises(MetadataError, match=f"{DEEPEST} levels"):
        render("{{a}}", {"a": "{{a}}"}, Budget())
    doubling: dict[str, Any] = {f"t{i}": f"{{{{t{i + 1}}}}}" * 9 for i in range(12)}
    for leaf in ("", "x"):
        start = time.perf_counter()
        with pytest.raises(MetadataError):
            render("{{t0}}", {**doubling, "t12": leaf}, Budget())
        assert time.perf_counter() - start < 60
    with pytest.raises(MetadataError, match="characters"):
        render("{{a}}{{a}}", {"a": "x" * (LONGEST - 1)}, Budget())


def test_numbers() -> None:
    assert integer("{{i * 2}}", NAMES, Budget()) == 14
    assert integer(" 12 ", NAMES, Budget()) == 12
    for wrong in ("{{j}}", "1.5", "", "x", -1, 1.5, None, True, 1 << 63):
        with pytest.raises(MetadataError):
            integer(wrong, NAMES, Budget())


def generator(**changes: Any) -> dict[str, Any]:
    return {"key": "k{{i}}", "url": "u", "dimensions": {"i": {"stop": 3}}, **changes}


@pytest.mark.parametrize(
    "wrong",
    [
        3,
        {},
        generator(dimensions=[]),
        generator(dimensions={"i": 3}),
        generator(dimensions={"i": {}}),
        generator(dimensions={"i": {"stop": 3, "step": 0}}),
        generator(dimensions={"i": {"stop": 1e9}}),
        generator(dimensions={"i": [[1]]}),
        generator(dimensions={"i": [True]}),
        generator(dimensions={"i": {"stop": 1 << 40}}),
        generator(dimensions={name: {"stop": 1 << 20} for name in "ijklmnop"}),
        generator(key=3),
        generator(url=None),
        generator(offset="0"),
        generator(length="10"),
        generator(offset="{{-i}}", length=1),
    ],
)
def test_broken_generators(wrong: Any) -> None:
    start = time.perf_counter()
    with pytest.raises(MetadataError, match=r"gen\[1\]"):
        ReferenceStore({"version": 1, "gen": [generator(), wrong]})
    assert time.perf_counter() - start < 60


def test_many_generators_share_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.stores.references.json.MOST_GENERATED", 1000)
    other = generator(dimensions={"i": {"stop": 400}}, key="{{i}}-{{i}}")
    with pytest.raises(MetadataError, match=r"gen\[2\]"):
        Document({"version": 1, "gen": [other, other, other]})
    monkeypatch.setattr("omnizarr.stores.references.json.MOST_WORK", 60_000)
    same = generator(dimensions={"i": {"stop": 400}}, key="x", url="{{i}}{{i}}")
    with pytest.raises(MetadataError, match=r"gen\[[12]\].*more work"):
        Document({"version": 1, "gen": [same] * 30})


@pytest.mark.parametrize(
    "document",
    [
        {"version": 1, "templates": []},
        {"version": 1, "templates": {"u": 3}},
        {"version": 1, "refs": []},
        {"version": 1, "gen": {}},
    ],
)
def test_broken_documents(document: Any) -> None:
    with pytest.raises(MetadataError):
        Document(document)
