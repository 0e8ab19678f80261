from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.pdf_server import main as example
from examples.pdf_server.samples import make_samples


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    make_samples(tmp_path / "papers")
    return tmp_path / "papers"


async def test_an_agent_answers_from_a_page_that_another_program_read(folder: Path) -> None:
    result = await example.our_host(folder)
    assert result.text.startswith("The warranty lasts 24 months")
    assert result.text.endswith("(kettle.pdf, page 1)")
    assert [call.name for call, _ in result.calls] == ["papers_search_pdfs", "papers_read_pdf"]


async def test_another_client_reads_in_the_folder_and_nowhere_else(folder: Path) -> None:
    outside = folder.parent / "diary.pdf"
    (folder / "link.pdf").symlink_to(outside)
    elsewhere = ("../diary.pdf", str(outside), "link.pdf", "home/../../diary.pdf", "no.pdf")
    inside, *refused = await example.official_client(folder, "home/lease.pdf", *elsewhere)
    assert "The rent is 980" in inside
    assert len(refused) == len(elsewhere)
    for said in refused:
        assert "no file" in said
        assert "Nobody is to read this" not in said


def test_another_process_finds_it_by_a_configuration(folder: Path) -> None:
    (found,) = json.loads(example.another_process(folder))
    assert (found["problem"], found["era"]) == ("", "modern")
    assert [tool["name"] for tool in found["tools"]] == ["list_pdfs", "read_pdf", "search_pdfs"]
