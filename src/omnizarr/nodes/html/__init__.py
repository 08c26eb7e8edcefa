"""Arrays, groups and trees for a notebook: HTML without scripts and without outside resources.

    text      escapes and shortens what comes from a store
    style     the one style sheet
    picture   the chunk grid as SVG
    known     what a display may ask a store for, and what it asks
    pages     the displays

Every text of a store passes through `text.shown`. A display is bounded in size, whatever the store
holds, and it never fails because the store does.
"""
