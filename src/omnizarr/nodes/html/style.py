"""The style sheet of all displays.

Text takes the colour of the page around it, and every line and surface is a share of that colour or
a tone that is seen on white and on black. So one sheet serves light and dark pages,
whether these come from the system (`prefers-color-scheme`), JupyterLab or VS Code. Where those two
name the colours and fonts of their own text, these are taken.
"""

from __future__ import annotations

CLASS = "omnizarr"
_SELECTOR = f".{CLASS}" * 3
"""Three times, to count for more than a notebook's own rules for tables."""

_RULES = {
    "": "--oz-accent:#2f81c7;--oz-line:rgba(128,128,128,.32);--oz-soft:rgba(128,128,128,.1);"
    "color:var(--jp-content-font-color1,var(--vscode-foreground,inherit));"
    "font-family:var(--jp-content-font-family,var(--vscode-font-family,system-ui,sans-serif));"
    "font-size:13px;line-height:1.45;max-width:860px;border:1px solid var(--oz-line);"
    "border-radius:8px;padding:0;margin:2px 0;overflow:hidden;text-align:left",
    "*": "box-sizing:border-box",
    ".oz-head": "display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 10px;padding:7px 12px;"
    "background:var(--oz-soft);border-bottom:1px solid var(--oz-line)",
    ".oz-kind": "opacity:.72",
    ".oz-name": "font-weight:600;overflow-wrap:anywhere",
    ".oz-tag": "font-size:11px;border:1px solid var(--oz-line);border-radius:9px;padding:0 7px",
    ".oz-store": "margin-left:auto;opacity:.72;font-size:12px;overflow-wrap:anywhere",
    ".oz-body": "display:flex;flex-wrap:wrap;gap:10px 28px;padding:8px 12px;align-items:center;"
    "justify-content:space-between",
    ".oz-facts": "flex:1 1 340px;min-width:0",
    ".oz-picture": "flex:0 1 auto;max-width:100%;text-align:center;font-size:11px;margin:0",
    ".oz-picture svg": "display:block;max-width:100%;height:auto;margin:0 auto;overflow:visible",
    ".oz-picture text": "font-size:11px;fill:currentColor;stroke:none;font-family:inherit",
    ".oz-picture figcaption": "opacity:.8;margin-top:2px",
    "table": "border-collapse:collapse;border:0;margin:0;width:100%;font-size:inherit;"
    "background:none;table-layout:auto;color:inherit",
    "tr": "background:none;border:0",
    "th,td": "text-align:left;vertical-align:top;padding:2px 14px 2px 0;border:0;"
    "font-size:inherit;background:none;white-space:normal;overflow-wrap:anywhere;max-width:none",
    "tbody th": "font-weight:400;opacity:.72;white-space:nowrap;overflow-wrap:normal;width:1%",
    "thead th": "font-weight:600;border-bottom:1px solid var(--oz-line);white-space:nowrap",
    ".oz-code": "font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,"
    "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace));font-size:12px",
    ".oz-none": "opacity:.72;padding:8px 12px;margin:0",
    ".oz-members": "padding:6px 12px 8px",
    "details.oz-more": "border-top:1px solid var(--oz-line);padding:4px 12px",
    "summary": "cursor:pointer;display:list-item",
    ".oz-count": "opacity:.72",
    ".oz-inside": "max-height:320px;overflow:auto;padding:2px 0 4px 16px",
    ".oz-inside tbody th": "white-space:normal;overflow-wrap:anywhere;min-width:90px;width:22%",
    ".oz-tree": "padding:7px 12px",
    ".oz-tree ul": "list-style:none;margin:0 0 0 6px;padding:0 0 0 14px;"
    "border-left:1px solid var(--oz-line)",
    ".oz-tree li": "margin:0;padding:1px 0",
    ".oz-leaf": "padding-left:15px",
    ".oz-dim": "opacity:.72",
}


def _sheet() -> str:
    found = []
    for selector, rules in _RULES.items():
        inside = [f"{_SELECTOR} {part}".strip() for part in selector.split(",")]
        found.append(f"{','.join(inside)}{{{rules}}}")
    return "".join(found)


SHEET = f"<style>{_sheet()}</style>"
