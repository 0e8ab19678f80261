from __future__ import annotations

import pytest

from examples.photo_api import main as example
from examples.photo_api.service import PASSWORD, TOKEN


@pytest.mark.row("T2")
async def test_a_document_becomes_tools_with_pages_an_upload_and_a_token_that_no_model_sees() -> None:
    result, service = await example.album()
    assert result.text == "There are cat, dog, owl; fox was added."
    assert [call.name for call, _ in result.calls] == ["list_photos", "list_photos", "add_photo", "get_job"]
    assert service.photos[-1] == {"name": "fox.png", "bytes": len(example.FOX.data)}
    assert service.granted == 1
    everything = str(result.messages)
    assert TOKEN not in everything
    assert PASSWORD not in everything
    assert "[redacted: secret]" in everything
