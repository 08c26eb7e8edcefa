"""A hierarchy as a drawing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnizarr.nodes.array import Array

if TYPE_CHECKING:
    from omnizarr.nodes.group import Group


class Tree:
    """A drawing of a hierarchy: text when printed, HTML in a notebook. `group.tree()` makes it.

    Parameters
    ----------
    group
        The group at the top.
    level
        How many levels to show; None for all.
    expand
        Whether groups are shown open in HTML.
    max_nodes
        Number of nodes after which the drawing ends with "…"; None for no end.

    Examples
    --------
    >>> root = omnizarr.group()
    >>> _ = root.create_group("a/b")
    >>> print(root.tree())
    /
     └── a
         └── b
    """

    def __init__(
        self,
        group: Group,
        level: int | None = None,
        *,
        expand: bool = True,
        max_nodes: int | None = None,
    ) -> None:
        for name, value in (("level", level), ("max_nodes", max_nodes)):
            if value is not None and value < 0:
                raise ValueError(f"{name} must be None or an int of at least 0, found {value!r}")
        self._group = group
        self._level = level
        self._expand = expand
        self._most = max_nodes

    def __repr__(self) -> str:
        return "\n".join([self._group.name, *self._lines(self._group, self._level, "", [0])])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from omnizarr.nodes.html.pages import tree_page  # only for notebooks

        return tree_page(self._html(self._group, self._group.name, self._level, [0]))

    def _members(
        self, group: Group, level: int | None, shown: list[int]
    ) -> Iterator[tuple[str, Array | Group | None, bool]]:
        """Name and node of each member, and whether it is the last; the node is None where the
        drawing ends. `shown[0]` counts the nodes of the whole drawing."""
        members = [] if level is not None and level <= 0 else list(group.members())
        for index, (name, member) in enumerate(members):
            if self._most is not None and shown[0] >= self._most:
                yield "…", None, True
                return
            shown[0] += 1
            yield name, member, index == len(members) - 1

    def _lines(self, group: Group, level: int | None, indent: str, shown: list[int]) -> list[str]:
        lines: list[str] = []
        below = None if level is None else level - 1
        for name, member, last in self._members(group, level, shown):
            lines.append(f"{indent} {'└' if last else '├'}── {_label(name, member)}")
            if member is not None and not isinstance(member, Array):
                lines += self._lines(member, below, indent + ("    " if last else " │  "), shown)
        return lines

    def _html(self, group: Group, name: str, level: int | None, count: list[int]) -> str:
        from omnizarr.nodes.html.text import shown

        below = None if level is None else level - 1
        items = []
        for child, member, _ in self._members(group, level, count):
            if member is None or isinstance(member, Array):
                items.append(f'<li class="oz-leaf">{_html_label(child, member)}</li>')
            else:
                items.append(f"<li>{self._html(member, child, below, count)}</li>")
        listed = f"<ul>{''.join(items)}</ul>" if items else ""
        details = "<details open>" if self._expand else "<details>"
        return f"{details}<summary>{shown(name)}</summary>{listed}</details>"


def _html_label(name: str, member: Array | None) -> str:
    from omnizarr.nodes.html.text import shown

    if member is None:
        return shown(name)
    facts = f"{shown(member.shape)} {shown(member.data_type)}"
    return f'<span class="oz-name">{shown(name)}</span> <span class="oz-dim">{facts}</span>'


def _label(name: str, member: Array | Group | None) -> str:
    return f"{name} {member.shape} {member.data_type}" if isinstance(member, Array) else name
