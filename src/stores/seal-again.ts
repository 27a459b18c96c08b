import { setTimeout as pause } from 'node:timers/promises';
import type {
  SealAgain,
  SealedColumn,
  SealedContents,
  SealedCounts,
  SealedPlace,
  SealedStep,
} from '../books/metering/sealed-columns.ts';
import type { RemovableFiles } from '../kernel/file-store.ts';
import { createSealer } from '../kernel/seal.ts';
import type { ClosableTables, Row } from './sql-tables.ts';

export interface SealAgainParts {
  sealed: { columns: readonly SealedColumn[]; contents: SealedContents };
  /** Tables of a file of the embedded storage, or of the database; null: there are none. Who asks closes them. */
  sealedTables(file: string): Promise<ClosableTables | null>;
  /** Where contents of files are; null: in rows. */
  bucket(): RemovableFiles | null;
  /** The current one first. */
  secrets: { all(): readonly string[] };
}

const stepMs = 500;
/** Rows or objects that are sealed in one turn of the loop and written in one transaction. */
const atOnce = 4;
/** After a turn with more bytes the next one has a single row. */
const turnBytes = 256 * 1024;
/** Rows that are passed over in one turn while few have a value: about a millisecond. */
const passedAtOnce = 256;

type Mode = 'look' | 'seal';
type Behind = SealedPlace['behind'];
/** Some rows of a part, and the last key; null: there are no more. */
type Part = (tables: ClosableTables, mode: Mode, behind: Behind, counts: SealedCounts) => Promise<Behind>;

export function createSealedStep(parts: SealAgainParts): SealedStep {
  const { columns, contents } = parts.sealed;
  const all: { kind: string; file: string; run: Part }[] = [
    ...columns.map((column) => ({ ...column, run: columnAgain(parts, column) })),
    { kind: 'files', file: 'batches.db', run: objectsAgain(parts, contents) },
  ];
  return async (mode, from) => {
    const untilMs = performance.now() + stepMs;
    const kinds = new Map<string, SealedCounts>();
    let { part, behind } = from;
    const opened = new Map<string, ClosableTables | null>();
    try {
      for (let one = all[part]; one !== undefined && performance.now() < untilMs; one = all[part]) {
        const beganMs = performance.now();
        const counts = kinds.get(one.kind) ?? { kind: one.kind, current: 0, earlier: 0, lost: 0 };
        kinds.set(one.kind, counts);
        const tables = opened.get(one.file) ?? (await parts.sealedTables(one.file));
        opened.set(one.file, tables);
        behind = tables && (await one.run(tables, mode, behind, counts));
        if (behind === null) part += 1;
        // Requests have half of the time.
        await pause(performance.now() - beganMs);
      }
    } finally {
      for (const tables of opened.values()) await tables?.close();
    }
    return { kinds: [...kinds.values()], next: part < all.length ? { part, behind } : null };
  };
}

/** Seals by the secrets of now. */
function sealAgain({ secrets }: SealAgainParts, purpose: string): SealAgain {
  const [now = '', ...before] = secrets.all();
  const current = createSealer([now], purpose);
  const earlier = before.length === 0 ? null : createSealer(before, purpose);
  return (sealed, context, inside = (plain) => plain) => {
    const opened = current.open(sealed, context);
    const plain = opened ?? earlier?.open(sealed, context) ?? null;
    if (plain === null) return null;
    const again = inside(plain);
    return opened !== null && again === plain ? sealed : current.seal(again, context);
  };
}

/** Counts a value that `now` is sealed again, or cannot be; the same value where there is nothing to do. */
function counted(counts: SealedCounts, was: Uint8Array, now: Uint8Array | null): Uint8Array {
  counts[now === null ? 'lost' : now === was ? 'current' : 'earlier'] += 1;
  return now ?? was;
}

function columnAgain(
  parts: SealAgainParts,
  { table, key, column, also = [], sparse = false, ...rest }: SealedColumn,
): Part {
  const { purpose, contextOf, inside } = rest;
  const keys = key.join(', ');
  let limit = atOnce;
  const places = (from: number) => key.map((_, at) => `$${at + from}`).join(', ');
  return async ({ prefix, rows, write }, mode, behind, counts) => {
    const after = isPlaceBy(key, behind) ? behind : [];
    const beyond = after.length === 0 ? 'TRUE' : `(${keys}) > (${places(1)})`;
    const keysOf = (row: Row | undefined) => row && key.map((one) => row[one] as string | number);
    const ends = `SELECT ${keys} FROM ${prefix}${table} WHERE ${beyond} ORDER BY ${keys} LIMIT 1 OFFSET ${passedAtOnce - 1}`;
    const end = sparse ? keysOf((await rows(ends, after))[0]) : undefined;
    const within = end === undefined ? '' : `AND (${keys}) <= (${places(after.length + 1)})`;
    const columns = [...key, ...also.map((one) => one.replaceAll('@', prefix)), column].join(', ');
    const found = await rows(
      `SELECT ${columns} FROM ${prefix}${table} AS ${table}
      WHERE ${column} IS NOT NULL AND ${beyond} ${within} ORDER BY ${keys} LIMIT ${limit}`,
      [...after, ...(end ?? [])],
    );
    const seal = sealAgain(parts, purpose);
    // Who has changed it meanwhile has sealed it by the current secret.
    const same = [...key, column].map((one, at) => `${one} = $${at + 2}`).join(' AND ');
    const steps = found.flatMap((row) => {
      // A row without its owner is nobody's: a sweep removes it.
      if (row.tenant === null) return [];
      const was = row[column] as Uint8Array;
      const again = seal(was, contextOf(row), inside && ((plain) => inside(plain, row, seal)));
      const now = counted(counts, was, again);
      const values = [now, ...key.map((one) => row[one]), was];
      return now === was ? [] : [{ sql: `UPDATE ${prefix}${table} SET ${column} = $1 WHERE ${same}`, values }];
    });
    if (mode === 'seal' && steps.length > 0) await write(steps);
    const next = found.length < limit ? end : keysOf(found.at(-1));
    limit = found.reduce((bytes, row) => bytes + (row[column] as Uint8Array).length, 0) > turnBytes ? 1 : atOnce;
    return next ?? null;
  };
}

/** False for a place of another part, which callers may send: its values are no keys here. */
function isPlaceBy(key: readonly string[], behind: Behind): behind is (string | number)[] {
  const isValue = (value: string | number, at: number) =>
    key[at] === 'seq' ? Number(value) === value && Math.abs(value) < 2 ** 31 : typeof value === 'string';
  return behind?.length === key.length && behind.every(isValue);
}

/** Some objects of the next file. Those of one that is not complete may still change: they are only counted. */
function objectsAgain(parts: SealAgainParts, { purpose, chunkBytes, nameOf, contextOf }: SealedContents): Part {
  return async ({ prefix, rows }, mode, behind, counts) => {
    const bucket = parts.bucket();
    if (bucket === null) return null;
    const [from = '', chunk = 0] = behind ?? [];
    const sql = `SELECT id, tenant, bytes, complete FROM ${prefix}stored_file WHERE id >= $1 ORDER BY id LIMIT 2`;
    const [file, following] = await rows(sql, [from]);
    if (file === undefined) return null;
    const owner = { id: String(file.id), tenant: String(file.tenant) };
    const end = Math.ceil(Number(file.bytes) / chunkBytes);
    let at = owner.id === from ? Number(chunk) : 0;
    const seal = sealAgain(parts, purpose);
    for (const upTo = Math.min(end, at + atOnce); at < upTo; at++) {
      const opened = await bucket.open(nameOf(owner.id, at));
      if (opened === null) continue;
      const was = Buffer.concat(await opened.content.toArray());
      const now = counted(counts, was, seal(was, contextOf(owner, at)));
      if (now === was || mode === 'look' || Number(file.complete) === 0) continue;
      await bucket.put(nameOf(owner.id, at), now, 0);
      // One that was deleted meanwhile must not come back.
      const [left] = await rows(`SELECT 1 AS one FROM ${prefix}stored_file WHERE id = $1`, [owner.id]);
      if (left === undefined) await bucket.remove(nameOf(owner.id, at));
    }
    if (at < end) return [owner.id, at];
    return following === undefined ? null : [String(following.id), 0];
  };
}
