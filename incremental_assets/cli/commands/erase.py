"""`erase`: take the rows of some keys out of a copy and out of all that was made of it, and prove that nothing of them is left."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.answer import Answer, Cell, Grid, Note, Shown
from incremental_assets.cli.audited import audited, told, user
from incremental_assets.cli.commands.reset import tables_to_reset
from incremental_assets.cli.opening import configured, opened
from incremental_assets.core.config.database_settings import database_of
from incremental_assets.core.errors import Refused, SelectionError
from incremental_assets.core.maintenance.erase import erase
from incremental_assets.core.model.certificate import Certificate
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.subject import Subject, header_in, pattern, subjects_in
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import counted
from incremental_assets.resources.erasures import erasure_key

if TYPE_CHECKING:
    from incremental_assets.adapters.erasure.prover import Grounds
    from incremental_assets.core.model.erasure import Examined
    from incremental_assets.resources.runtime import Runtime

_FAILED = 1
_HEADER = "{file}:{header.line}: this line names the key, and is read as the header of a CSV file; a key that is called so is written as a JSON object"


@dataclass(frozen=True, slots=True)
class Options:
    """`certificate`: the file that it is written to."""

    table: str
    key_file: Path
    yes: bool
    reason: str
    certificate: Path | None


def run(config: Path | None, options: Options) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        spec = _spec(runtime, options.table)
        text = _text_of(options.key_file)
        subjects = subjects_in(text, spec.key_columns, str(options.key_file))
        header = header_in(text, spec.key_columns)
        _check_reason(options.reason, subjects)
        note = "" if header is None else _HEADER.format(file=options.key_file, header=header)
        key = erasure_key(runtime.configuration)
        if key is None:
            raise SelectionError(
                f"{runtime.configuration.path}: erased keys are kept out by a secret key, and none is named; write `erasure_key: {{env: ERASURE_KEY}}`, "
                "with a value of 32 characters or more that stays the same"
            )
        from incremental_assets.adapters.erasure.beyond import beyond, kept_versions, of_others
        from incremental_assets.adapters.erasure.eraser import Eraser
        from incremental_assets.adapters.erasure.prover import examine

        grounds = _grounds(runtime, spec)
        before = examine(grounds, subjects)
        if not options.yes:
            raise Refused(_unconfirmed(spec, subjects, before, note))
        # Before anything goes: afterwards nobody could make it again.
        _write(options.certificate, "")
        eraser, run_id = Eraser(grounds, spec, subjects, key), str(uuid.uuid4())
        named = ", ".join(each[:12] for each in eraser.digests[:3])
        audited(runtime, Act.ERASE, [spec.id], run_id, f"{options.reason} (keys {named})".strip())
        erase(spec, run_id, runtime.ports(spec.id.source), eraser)
        after = examine(grounds, subjects)
        done = Certificate(
            table=spec.id,
            at=datetime.now(UTC),
            by=user(runtime),
            reason=told(options.reason),
            run_id=run_id,
            tool=f"incremental-assets {version('incremental-assets')}",
            key_id=key.id,
            keys=eraser.digests,
            before=before,
            after=after,
            removed=len(eraser.removed),
            beyond=tuple(beyond(grounds)),
            kept=tuple(filter(None, [*of_others(grounds, after.left), kept_versions(grounds)])),
        )
    _write(options.certificate, json.dumps(done.to_json(), indent=2, ensure_ascii=False) + "\n")
    shown = (Note(note, "dim"), *_shown(done)) if note else _shown(done)
    return Answer(done.to_json(), shown, 0 if done.is_erased else _FAILED)


def _spec(runtime: Runtime, table: str) -> TableSpec:
    found = tables_to_reset(runtime, [table])
    if len(found.specs) + len(found.troubles) != 1:
        raise SelectionError(f"--table {table}: this is not one table; erase from one table at a time")
    if found.troubles:
        raise found.troubles[0].error
    spec = found.specs[0]
    if not spec.key:
        raise SelectionError(
            f"{spec.id}: the table has no key, so that nobody could tell whose rows to erase; declare `primary_key`"
        )
    floating = next((each for each in spec.key_columns if each.spark_type in ("float", "double")), None)
    if floating is not None:
        raise Refused(
            f"{spec.id}: {floating.name!r} of its key is a {floating.spark_type}, of which several texts are one value, so that nobody could prove that a row is gone; nothing was erased"
        )
    if spec.collation_key is not None:
        raise Refused(
            f"{spec.id}: its key is a text of which the source takes different spellings for one, so that a key of another spelling would not be kept out; "
            "nothing was erased"
        )
    return spec


def _check_reason(reason: str, subjects: tuple[Subject, ...]) -> None:
    """It stays in the audit and in the certificate."""
    if pattern(subjects, numbers=True).search(reason.encode(errors="surrogatepass")):
        raise SelectionError(
            "--reason names what is to be erased, and would be kept; write another one, such as the number of the request"
        )


def _write(certificate: Path | None, text: str) -> None:
    if certificate is None:
        return
    try:
        with certificate.open("w" if text else "a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SelectionError(
            f"--certificate {certificate}: it cannot be written ({error.strerror}); name another file"
        ) from None


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SelectionError(f"--key-file {file}: this is no UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise SelectionError(f"--key-file {file}: it cannot be read ({error.strerror}); name a file of keys") from None


def _grounds(runtime: Runtime, spec: TableSpec) -> Grounds:
    from incremental_assets.adapters.erasure.former import former_places
    from incremental_assets.adapters.erasure.prover import Grounds
    from incremental_assets.core.model.paths import log_path
    from incremental_assets.resources.home import home_folder

    configuration, source = runtime.configuration, runtime.configuration.source(spec.id.source)
    grounds = Grounds(
        configuration.lake,
        spec.id,
        configuration.checkpoints,
        home_folder(),
        log_path(configuration.lake, source.name, database_of(source).log.folder) if source.reads_log else "",
        dict(spec.source_names),
    )
    former = former_places(grounds.store, configuration.lake, spec.id, runtime.checkpoints.made())
    return replace(grounds, former=former)


def _unconfirmed(spec: TableSpec, subjects: tuple[Subject, ...], before: Examined, note: str) -> str:
    what = (
        f"{spec.id}: {counted(len(subjects), 'key')} would be erased, and kept out from then on; earlier versions of the copy, of its history and of its "
        "quarantine would be gone, with their logs, so that nobody could read or roll back to them"
    )
    lines = [f"{each.place}: {each.where}: {', '.join(each.how)}" for each in before.found]
    if not lines:
        lines.append("nothing of them was found in any place")
    return "\n".join([*filter(None, [note]), what, *lines, "nothing was changed; add --yes to confirm"])


def _shown(done: Certificate) -> tuple[Shown, ...]:
    entry = done.to_json()
    rows = tuple(
        (
            each["place"],
            str(each["files"]),
            str(each["before"]),
            Cell(str(each["after"]), "bad" if each["after"] else "good"),
        )
        for each in entry["examined"]
    )
    shown: list[Shown] = [
        Grid(("place", "examined", "held something", "hold something now"), rows, title=str(done.table))
    ]
    shown += [Note(f"{each.place}: {each.where}: still holds {', '.join(each.how)}", "bad") for each in done.after.left]
    shown += [Note(each, "bad") for each in done.kept]
    if not done.before.found:
        shown.append(
            Note(
                "nothing of these keys was in any place before; see that they are written as the source has them", "bad"
            )
        )
    result = "erased: nothing of these keys is left in any place that was examined" if done.is_erased else "not erased"
    shown.append(Note(f"{result}; {counted(done.removed, 'file')} removed", "good" if done.is_erased else "bad"))
    shown += [Note(f"out of reach: {each}", "dim") for each in done.beyond]
    return tuple(shown)
