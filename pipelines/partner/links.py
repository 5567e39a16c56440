"""Read Link headers (RFC 8288)."""

from __future__ import annotations

import re

# RFC 8288 section 3 and RFC 9110 section 5.6: <target> then parameters, values bare or quoted.
_TARGET = re.compile(r"[\s,]*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""", re.ASCII)
_REST = re.compile(r"[ \t,]*+")
_END = re.compile(r"\s*(?:,|$)")


class LinkError(ValueError):
    """A Link header does not follow RFC 8288."""


def targets(headers: tuple[str, ...], relation: str) -> list[str]:
    """Return the targets of `relation`, in order, as written: relative ones unresolved.

    Links with an anchor concern another resource and are skipped. Raise LinkError for text that is not a link.
    """
    found = []
    for header in headers:
        position = 0
        while not _REST.fullmatch(header, position):
            match = _TARGET.match(header, position)
            if match is None:
                raise LinkError("a Link header cannot be read")
            target, position = match[1], match.end()
            parameters: dict[str, str] = {}
            while (match := _PARAMETER.match(header, position)) is not None:
                value = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
                parameters.setdefault(match[1].lower(), value or "")  # the first rel counts, section 3.3
                position = match.end()
            match = _END.match(header, position)
            if match is None:
                raise LinkError("a Link header cannot be read")
            position = match.end()
            if "anchor" not in parameters and relation in parameters.get("rel", "").lower().split():
                found.append(target)
    return found
