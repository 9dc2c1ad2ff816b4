"""What the installed library weighs, and that the tool that makes it lighter leaves a library that loads."""

import importlib.util
import pathlib

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 45_000_000
PAGE = 0x1000


def drop_moved_sections():
    path = REPOSITORY / "scripts" / "drop_moved_sections.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library_with(tool, moved_bytes, moved_name=".bolt.org.eh_frame", kept_name=".rodata"):
    """One segment of a page of `a`, moved bytes of `m` and a page of `b`; the tables are in another one."""
    names = f"\0{moved_name}\0{kept_name}\0.names\0".encode()
    moved_at, kept_at = PAGE, PAGE + moved_bytes
    tables_at = kept_at + PAGE
    segments = [
        tool.Segment(tool.LOAD, 4, 0, 0, 0, tables_at, tables_at, PAGE),
        tool.Segment(tool.LOAD, 4, tables_at, 8 * PAGE + tables_at, 8 * PAGE + tables_at, PAGE, PAGE, PAGE),
        tool.Segment(tool.PROGRAM_HEADERS, 4, tables_at, 8 * PAGE + tables_at, 8 * PAGE + tables_at, 168, 168, 8),
    ]
    names_at, sections_at = tables_at + 512, tables_at + 1024
    sections = [
        tool.Section(1, 1, 2, moved_at, moved_at, moved_bytes, 0, 0, 8, 0),
        tool.Section(2 + len(moved_name), 1, 2, kept_at, kept_at, PAGE, 0, 0, 8, 0),
        tool.Section(3 + len(moved_name) + len(kept_name), 3, 0, 0, names_at, len(names), 0, 0, 1, 0),
    ]
    header = tool.Header(tables_at, sections_at, 0, 64, 56, len(segments), 64, len(sections), 2)
    contents = bytearray(b"a" * PAGE + b"m" * moved_bytes + b"b" * PAGE + bytes(PAGE))
    contents[:6] = b"\x7fELF\x02\x01"
    tool.HEADER.pack_into(contents, tool.HEADER_AT, *header)
    for i, segment in enumerate(segments):
        tool.SEGMENT.pack_into(contents, tables_at + i * tool.SEGMENT.size, *segment)
    contents[names_at : names_at + len(names)] = names
    for i, section in enumerate(sections):
        tool.SECTION.pack_into(contents, sections_at + i * tool.SECTION.size, *section)
    return bytes(contents)


def image(tool, library):
    """What stands at each address, and the tables' place."""
    header = tool.Header(*tool.HEADER.unpack_from(library, tool.HEADER_AT))
    memory, headers = {}, None
    for i in range(header.segment_count):
        segment = tool.Segment(*tool.SEGMENT.unpack_from(library, header.segments + i * tool.SEGMENT.size))
        assert segment.offset % PAGE == segment.address % PAGE or segment.type != tool.LOAD
        if segment.type == tool.PROGRAM_HEADERS:
            headers = segment
        else:
            for at in range(0, segment.size, 64):
                memory[segment.address + at] = library[segment.offset + at : segment.offset + at + 64]
    assert headers.offset == header.segments
    assert headers.size == header.segment_count * tool.SEGMENT.size
    return memory


def test_moved_pages_go_and_all_else_stays_at_its_address():
    tool = drop_moved_sections()
    library = library_with(tool, 3 * PAGE + 64)
    smaller = tool.without_moved_sections(library)
    assert len(library) - len(smaller) == 3 * PAGE
    before, after = image(tool, library), image(tool, smaller)
    assert set(before) - set(after) == set(range(PAGE, 4 * PAGE, 64))
    kept = {at: text for at, text in before.items() if text in (b"a" * 64, b"b" * 64)}
    assert len(kept) > 100
    assert all(after[at] == text for at, text in kept.items())
    # Nothing is left to do.
    assert tool.without_moved_sections(smaller) == smaller


def test_a_library_without_moved_sections_stays_as_it_is():
    tool = drop_moved_sections()
    library = library_with(tool, 3 * PAGE, moved_name=".eh_frame")
    assert tool.without_moved_sections(library) == library


@pytest.mark.parametrize("contents", [b"", b"\x7fELF\x01\x01", b"\x7fELF\x02\x01" + bytes(10)])
def test_what_is_no_library_is_an_error(tmp_path, monkeypatch, capsys, contents):
    tool = drop_moved_sections()
    path = tmp_path / "library.so"
    path.write_bytes(contents)
    monkeypatch.setattr("sys.argv", ["drop_moved_sections.py", str(path)])
    assert tool.main() == 1
    assert str(path) in capsys.readouterr().err
    assert path.read_bytes() == contents


def test_installed_library_is_small():
    spec = importlib.util.find_spec("jax_plugins.kiln")
    if spec is None:
        pytest.skip("the wheel is not installed")
    library = (pathlib.Path(spec.origin).parent / "libkiln_pjrt.so").read_bytes()
    if b".bolt.org." not in library:
        pytest.skip("the library is not laid out")
    assert len(library) < MOST_BYTES
    assert drop_moved_sections().without_moved_sections(library) == library
