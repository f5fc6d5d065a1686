"""Published files from the Hugging Face Hub; huggingface_hub is imported when one is wanted."""

from __future__ import annotations

from pathlib import Path

from paretopo.data.schema import DataError
from paretopo.data.sources import Source


def download(source: Source) -> Path:
    """The published file, from the Hub's cache on this machine or from the Hub.

    The repository and its state are those of the table. The file is data; nothing in the
    repository is run.

    Raises:
        DataError: It is not on the Hub, or the Hub gave an error; says what to download by hand,
            and how to go on.
    """
    by_hand = f"download {source.address} and pass it: paretopo prepare {source.name} --from FILE"
    if source.repository is None:
        raise DataError(f"{source.title} is not on the Hugging Face Hub: {by_hand}")
    import httpx
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(
            hf_hub_download(
                source.repository, source.file, repo_type="dataset", revision=source.revision
            )
        )
    except (OSError, httpx.HTTPError, HfHubHTTPError) as error:
        reason = (str(error) or type(error).__name__).split(". ")[0].splitlines()[0]
        raise DataError(f"the Hugging Face Hub gave no file ({reason}): {by_hand}") from None
