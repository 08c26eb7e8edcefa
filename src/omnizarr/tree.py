"""A hierarchy as a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.array import Array

if TYPE_CHECKING:
    from omnizarr.group import Group


class Tree:
    """What `group.tree()` gives: prints as text, shows as HTML in a notebook."""

    def __init__(self, group: Group, level: int | None = None) -> None:
        self._group = group
        self._level = level

    def __repr__(self) -> str:
        return "\n".join([self._group.name, *_lines(self._group, self._level, "")])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return f"<div>{_html(self._group, self._group.name, self._level)}</div>"


def _members(group: Group, level: int | None) -> list[tuple[str, Array | Group]]:
    return [] if level is not None and level <= 0 else list(group.members())


def _label(name: str, member: Array | Group) -> str:
    return f"{name} {member.shape} {member.dtype}" if isinstance(member, Array) else name


def _lines(group: Group, level: int | None, indent: str) -> list[str]:
    lines: list[str] = []
    members = _members(group, level)
    for index, (name, member) in enumerate(members):
        last = index == len(members) - 1
        lines.append(f"{indent} {'└' if last else '├'}── {_label(name, member)}")
        if not isinstance(member, Array):
            below = None if level is None else level - 1
            lines += _lines(member, below, indent + ("    " if last else " │  "))
    return lines


def _html(group: Group, name: str, level: int | None) -> str:
    from html import escape  # only for notebooks

    below = None if level is None else level - 1
    items = []
    for child, member in _members(group, level):
        if isinstance(member, Array):
            items.append(f"<li>{escape(_label(child, member))}</li>")
        else:
            items.append(f"<li>{_html(member, child, below)}</li>")
    listed = f"<ul>{''.join(items)}</ul>" if items else ""
    return f"<details open><summary>{escape(name)}</summary>{listed}</details>"
