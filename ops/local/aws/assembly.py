"""What a CDK cloud assembly says must be there before a stack: files in S3, and images by their folders.

Source: AWS CDK, "cloud-assembly-schema", AssetManifest.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ops.local.aws.errors import LocalAwsError

# The oldest date a zip can hold; with one date for all, equal folders make equal zips.
NO_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class FileAsset:
    """A file or folder of the assembly and the S3 object it becomes."""

    source: Path
    zipped: bool
    bucket: str
    key: str

    def content(self) -> bytes:
        """The bytes of the object; the same folder gives the same bytes."""
        return zip_folder(self.source) if self.zipped else self.source.read_bytes()


@dataclass(frozen=True, slots=True)
class StackAssets:
    """All that one stack needs; `images` has the build folder of each image by its tag."""

    template: FileAsset
    files: tuple[FileAsset, ...]
    images: Mapping[str, Path]


def stack_assets(assembly: Path, stack: str, account: str, region: str) -> StackAssets:
    """The assets of a stack; raises LocalAwsError when the assembly has no such stack."""
    manifest = assembly / f"{stack}.assets.json"
    if not manifest.exists():
        known = ", ".join(sorted(path.name.removesuffix(".assets.json") for path in assembly.glob("*.assets.json")))
        raise LocalAwsError(f"{assembly} has no stack {stack}; it has: {known or 'none, synthesise the app first'}")
    read = json.loads(manifest.read_text())
    names = {"${AWS::AccountId}": account, "${AWS::Region}": region, "${AWS::Partition}": "aws"}
    files = tuple(
        FileAsset(
            source=assembly / entry["source"]["path"],
            zipped=entry["source"]["packaging"] == "zip",
            bucket=_filled(destination["bucketName"], names),
            key=_filled(destination["objectKey"], names),
        )
        for entry in read.get("files", {}).values()
        for destination in entry["destinations"].values()
    )
    images = {
        destination["imageTag"]: (assembly / entry["source"]["directory"]).resolve()
        for entry in read.get("dockerImages", {}).values()
        for destination in entry["destinations"].values()
    }
    template = next(file for file in files if file.source.name == f"{stack}.template.json")
    return StackAssets(template, files, images)


def zip_folder(folder: Path) -> bytes:
    """A zip of a folder's files; order, dates and compression depend on nothing but the content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), NO_DATE)
            entry.external_attr = (path.stat().st_mode & 0o777) << 16
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(name, value)
    return text
