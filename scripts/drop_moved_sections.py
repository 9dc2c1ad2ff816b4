#!/usr/bin/env python3
"""Takes out of a shared library the unwind tables that BOLT has moved: nothing refers to the old ones any more.

  scripts/drop_moved_sections.py LIBRARY      in place

BOLT writes unwind tables anew behind everything else and leaves the old ones where they were, three megabytes within a
segment. Addresses stay as they are: the segment becomes two, without the pages in between. A library that is not as
expected is an error, and stays as it is.
"""
import collections
import struct
import sys

MOVED = (".bolt.org.eh_frame", ".bolt.org.eh_frame_hdr", ".bolt.org.gcc_except_table")
PAGE = 0x1000
# Types of segments, and the one of sections without contents.
LOAD, PROGRAM_HEADERS, NO_BITS = 1, 6, 8
# Of a 64-bit ELF file: its header from the place of the segments on, a segment and a section.
HEADER_AT, HEADER = 32, struct.Struct("<QQIHHHHHH")
SEGMENT, SECTION = struct.Struct("<IIQQQQQQ"), struct.Struct("<IIQQQQIIQQ")
Header = collections.namedtuple(
    "Header", "segments sections flags size segment_size segment_count section_size section_count names"
)
Segment = collections.namedtuple("Segment", "type flags offset address physical size memory_size alignment")
Section = collections.namedtuple("Section", "name type flags address offset size link info alignment entry_size")


def without_moved_sections(library: bytes) -> bytes:
    if library[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    header = Header(*HEADER.unpack_from(library, HEADER_AT))

    def table(kind, layout, at, count):
        return [kind(*layout.unpack_from(library, at + i * layout.size)) for i in range(count)]

    segments = table(Segment, SEGMENT, header.segments, header.segment_count)
    sections = table(Section, SECTION, header.sections, header.section_count)

    def name(section):
        begin = sections[header.names].offset + section.name
        return library[begin : library.index(b"\0", begin)].decode()

    filled = sorted((s for s in sections if s.type != NO_BITS and s.size > 0), key=lambda s: s.offset)
    moved = [s for s in filled if name(s) in MOVED]
    if not moved:
        return library
    first, last = moved[0].offset, moved[-1].offset + moved[-1].size
    others = [name(s) for s in filled if s not in moved and first < s.offset + s.size and s.offset < last]
    if others:
        raise ValueError(f"{others[0]} is among the moved sections")
    begin, end = -(-first // PAGE) * PAGE, last // PAGE * PAGE
    holders = [s for s in segments if s.type == LOAD and s.offset < begin and end < s.offset + s.size]
    if begin >= end or len(holders) != 1:
        raise ValueError("the moved sections are not within one segment")
    room_end = header.segments + (len(segments) + 1) * SEGMENT.size
    if any(header.segments <= s.offset < room_end for s in filled):
        raise ValueError("behind the table of segments there is no room for another")

    def place(offset):
        return offset if offset < end else offset - (end - begin)

    whole = holders[0]
    before, behind = begin - whole.offset, end - whole.offset
    at = segments.index(whole)
    segments[at : at + 1] = [
        whole._replace(size=before, memory_size=before),
        whole._replace(
            offset=end,
            address=whole.address + behind,
            physical=whole.physical + behind,
            size=whole.size - behind,
            memory_size=whole.memory_size - behind,
        ),
    ]
    table_size = len(segments) * SEGMENT.size
    result = bytearray(library[:begin] + library[end:])
    HEADER.pack_into(
        result,
        HEADER_AT,
        *header._replace(
            segments=place(header.segments), sections=place(header.sections), segment_count=len(segments)
        ),
    )
    for i, segment in enumerate(segments):
        if segment.type == PROGRAM_HEADERS:
            segment = segment._replace(size=table_size, memory_size=table_size)
        segment = segment._replace(offset=place(segment.offset))
        SEGMENT.pack_into(result, place(header.segments) + i * SEGMENT.size, *segment)
    for i, section in enumerate(sections):
        if section in moved:
            section = section._replace(type=NO_BITS)
        section = section._replace(offset=place(section.offset))
        SECTION.pack_into(result, place(header.sections) + i * SECTION.size, *section)
    return bytes(result)


def main() -> int:
    path = sys.argv[1]
    with open(path, "rb") as file:
        library = file.read()
    try:
        smaller = without_moved_sections(library)
    except (ValueError, IndexError, struct.error) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    with open(path, "wb") as file:
        file.write(smaller)
    return 0


if __name__ == "__main__":
    sys.exit(main())
