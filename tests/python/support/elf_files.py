# SPDX-License-Identifier: Apache-2.0
"""ELF shared libraries written byte by byte, for machines without a compiler here.

ELF header | dynamic symbols | their names | names of sections | other sections | section headers
"""

from __future__ import annotations

import struct

X86_64, AARCH64, S390, PPC = 62, 183, 22, 20


def library(
    *, machine: int, bits: int = 64, big_endian: bool = False, symbols=(), sections=(), texts=b""
) -> bytes:
    """Return the bytes of an ELF shared library.

    `symbols` are pairs (name, is_defined), `texts` is appended to the string table, and `sections`
    are tuples (name, type, address, content), which refer to the string table.
    """
    order = ">" if big_endian else "<"
    header_size, section_size = (64, 64) if bits == 64 else (52, 40)
    names, offsets = b"\0", []
    for name, _ in symbols:
        offsets.append(len(names))
        names += name.encode() + b"\0"
    table = struct.pack(order + ("IBBHQQ" if bits == 64 else "IIIBBH"), *[0] * 6)
    for offset, (_, is_defined) in zip(offsets, symbols):
        section = 1 if is_defined else 0
        table += (
            struct.pack(order + "IBBHQQ", offset, 1 << 4 | 2, 0, section, 0, 0)
            if bits == 64
            else struct.pack(order + "IIIBBH", offset, 0, 0, 1 << 4 | 2, 0, section)
        )
    names += texts
    section_names = b"\0.dynsym\0.dynstr\0.shstrtab\0"
    others, content = [], b""
    for name, kind, address, data in sections:
        others.append((len(section_names), kind, 2, address, len(content), len(data), 2, 0, 1, 0))
        section_names += name.encode() + b"\0"
        content += data
    at_names = header_size + len(table)
    at_section_names = at_names + len(names)
    at_content = at_section_names + len(section_names)
    at_sections = at_content + len(content)
    entry_size = 24 if bits == 64 else 16
    rows = [
        # name, type, flags, address, offset, size, link, info, alignment, entry size
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 11, 2, header_size, header_size, len(table), 2, 1, 8, entry_size),
        (9, 3, 2, at_names, at_names, len(names), 0, 0, 1, 0),
        (17, 3, 0, 0, at_section_names, len(section_names), 0, 0, 1, 0),
        *((*row[:4], at_content + row[4], *row[5:]) for row in others),
    ]
    layout = order + ("IIQQQQIIQQ" if bits == 64 else "10I")
    ident = b"\x7fELF" + bytes([bits // 32, 2 if big_endian else 1, 1]) + bytes(9)
    header = ident + struct.pack(
        order + ("HHIQQQIHHHHHH" if bits == 64 else "HHIIIIIHHHHHH"),
        *(3, machine, 1, 0, 0, at_sections, 0, header_size, 0, 0, section_size, len(rows), 3),
    )
    return b"".join(
        [header, table, names, section_names, content, *(struct.pack(layout, *r) for r in rows)]
    )
