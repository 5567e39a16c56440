"""Read Link headers (RFC 8288).

Knows nothing of paging: it says where relations point.
"""

from __future__ import annotations

import re

# RFC 8288 section 3 and RFC 9110 section 5.6: <target> then parameters, values bare or quoted.
_TARGET = re.compile(r"[\s,]*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""", re.ASCII)
_END = re.compile(r"\s*(?:,|$)")


class LinkError(ValueError):
    """A Link header is not what RFC 8288 says."""


def targets(headers: tuple[str, ...], relation: str) -> list[str]:
    """Return the targets of `relation`, in order, as they are written: relative ones unresolved.

    Links with an anchor are about another resource and left out. Raise LinkError for text that is no link.
    """
    found = []
    for header in headers:
        place = 0
        while header[place:].strip(" \t,"):
            match = _TARGET.match(header, place)
            if match is None:
                raise LinkError("a Link header cannot be read")
            target, place = match[1], match.end()
            parameters: dict[str, str] = {}
            while (match := _PARAMETER.match(header, place)) is not None:
                value = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
                parameters.setdefault(match[1].lower(), value or "")  # the first rel counts, section 3.3
                place = match.end()
            match = _END.match(header, place)
            if match is None:
                raise LinkError("a Link header cannot be read")
            place = match.end()
            if "anchor" not in parameters and relation in parameters.get("rel", "").lower().split():
                found.append(target)
    return found
