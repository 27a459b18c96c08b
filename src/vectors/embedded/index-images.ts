import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { CollectionRow } from './collection-row.ts';
import { type CodeImage, type ImagePart, ImageUnusable, type SavedImage } from './index/code-image.ts';
import type { ShardFile } from './shards/shard-file.ts';
import type { VectorRows } from './vector-rows.ts';

/** The vectors of an image, and their state. */
export interface ImageKey {
  cid: number;
  /** Null: the unnamed vector. `columnsFid`: no vector, but columns. */
  fid: number | null;
  size: number;
  distance: string;
  /** Number of the collection's last write. */
  seq: number;
}

/** Name of the vectors. */
export function imageKey({ cid, seq }: CollectionRow, { fid, spec }: VectorRows): ImageKey {
  const { size, distance } = spec.kind === 'dense' ? spec : { size: 0, distance: spec.kind };
  return { cid, fid, size, distance, seq };
}

const columnsFid = -1;

export function columnsKey({ cid, seq }: CollectionRow): ImageKey {
  return { cid, fid: columnsFid, size: 0, distance: 'columns', seq };
}

/** Header before the rows, padded with blanks. */
interface Head {
  version: 2;
  nonce: string;
  key: ImageKey;
  count: number;
  /** Undefined: the trial has not ended. */
  keep?: number | null;
  /** One after the other behind the head. */
  parts: { part: ImagePart; bytes: number; crc: number }[];
}

const headBytes = 512;

const table =
  'CREATE TABLE IF NOT EXISTS image (cid INTEGER NOT NULL, fid INTEGER NOT NULL, nonce TEXT NOT NULL, PRIMARY KEY (cid, fid)) WITHOUT ROWID';

/** An image is written only if this many times its bytes are free. */
const freeTimes = 4;

/**
 * Images of a shard's indexes in files next to its database. They are derived: each counts only while the shard's
 * database names its nonce and the collection has not been written since. One that is old, cut, or of another state of
 * the data, such as a restored backup, is ignored and made anew.
 */
export class IndexImages {
  readonly #shard: ShardFile;
  readonly #folder: string;
  #isSaving = false;

  constructor(shard: ShardFile) {
    this.#shard = shard;
    this.#folder = join(dirname(shard.file), `${basename(shard.file, '.db')}.images`);
  }

  /** Null: there is none of this state. */
  open(key: ImageKey): SavedImage | null {
    let file: number | null = null;
    try {
      file = fs.openSync(this.#path(key), 'r');
      const head = readHead(file);
      if (head !== null && head.nonce === this.#nonce(key) && same(head.key, key)) return savedImage(file, head);
    } catch {
      // Mostly: there is none.
    }
    if (file !== null) fs.closeSync(file);
    return null;
  }

  /** Collections that have one, perhaps of an earlier state. */
  collections(): number[] {
    try {
      return this.#shard
        .prepare('SELECT DISTINCT cid FROM image')
        .all()
        .map(({ cid }) => Number(cid));
    } catch {
      // None was ever kept.
      return [];
    }
  }

  /** The image that `open` would give; nothing of it can be read. */
  look(key: ImageKey): Pick<SavedImage, 'bytes' | 'keep'> | null {
    const known = this.open(key);
    known?.close();
    return known;
  }

  /** Whether the kept image is as good as `image`. */
  has(key: ImageKey, image: CodeImage): boolean {
    const known = this.look(key);
    return known !== null && (known.keep === image.keep || image.keep === undefined);
  }

  /**
   * Writes an image in small steps, and gives it up when its rows change meanwhile. `commit` runs its work in a transaction of
   * the shard. One at a time: another is refused. Never throws.
   */
  async save(key: ImageKey, image: CodeImage, commit: (work: () => void) => Promise<void>): Promise<'saved' | 'not'> {
    if (this.#isSaving || !this.#hasRoom(image.bytes)) return 'not';
    this.#isSaving = true;
    const path = this.#path(key);
    const nonce = randomUUID();
    try {
      fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      if (!(await write(`${path}.new`, image, { version: 2, nonce, key, count: image.count }))) return 'not';
      await commit(() => {
        if (!image.isCurrent()) throw new ImageUnusable('the rows have changed');
        fs.renameSync(`${path}.new`, path);
        // Not at a start: a damaged file must not be written before anybody asks for it.
        this.#shard.exec(table);
        this.#shard.prepare('INSERT OR REPLACE INTO image VALUES (?, ?, ?)').run(key.cid, key.fid ?? 0, nonce);
      });
      return 'saved';
    } catch {
      return 'not';
    } finally {
      this.#isSaving = false;
      removeIfThere(`${path}.new`);
    }
  }

  /** Removes the images of a collection that is gone. */
  forget(cid: number): void {
    try {
      for (const name of fs.readdirSync(this.#folder)) {
        if (name.startsWith(`${cid}-`)) fs.rmSync(join(this.#folder, name), { force: true });
      }
      this.#shard.prepare('DELETE FROM image WHERE cid = ?').run(cid);
    } catch {
      // There is no folder, mostly.
    }
  }

  #path({ cid, fid }: ImageKey): string {
    return join(this.#folder, `${cid}-${fid === columnsFid ? 'columns' : (fid ?? 0)}`);
  }

  #nonce({ cid, fid }: ImageKey): unknown {
    return this.#shard.prepare('SELECT nonce FROM image WHERE cid = ? AND fid = ?').get(cid, fid ?? 0)?.nonce;
  }

  #hasRoom(bytes: number): boolean {
    try {
      const { bavail, bsize } = fs.statfsSync(dirname(this.#folder));
      return bavail * bsize > bytes * freeTimes;
    } catch {
      return false;
    }
  }
}

/** A disk that has become read-only keeps it: the next image is written over it. */
function removeIfThere(path: string): void {
  try {
    fs.rmSync(path, { force: true });
  } catch {
    // Without its nonce it is not an image.
  }
}

/** False: its rows changed meanwhile. */
async function write(path: string, image: CodeImage, head: Omit<Head, 'parts'>): Promise<boolean> {
  const file = fs.openSync(path, 'w', 0o600);
  try {
    fs.writeSync(file, Buffer.alloc(headBytes));
    const parts: Head['parts'] = [];
    for (const { part, runs } of image.parts()) {
      const written = { part, bytes: 0, crc: 0 };
      for (const run of runs) {
        for (let at = 0; at < run.length; ) at += fs.writeSync(file, run, at);
        written.bytes += run.length;
        written.crc = crc32(run, written.crc);
        await turn();
        if (!image.isCurrent()) return false;
      }
      parts.push(written);
    }
    const { keep } = image;
    const whole: Head = { ...head, ...(keep !== undefined && { keep }), parts };
    fs.writeSync(file, JSON.stringify(whole).padEnd(headBytes), 0);
    return true;
  } finally {
    fs.closeSync(file);
  }
}

function readHead(file: number): Head | null {
  const bytes = Buffer.alloc(headBytes);
  if (fs.readSync(file, bytes, 0, headBytes, 0) !== headBytes) return null;
  const head = JSON.parse(bytes.toString()) as Head;
  return head.version === 2 ? head : null;
}

function same(a: ImageKey, b: ImageKey): boolean {
  return a.cid === b.cid && a.fid === b.fid && a.seq === b.seq && a.size === b.size && a.distance === b.distance;
}

function savedImage(file: number, { count, keep, parts }: Head): SavedImage {
  let at = headBytes;
  let crc = 0;
  let expected = 0;
  return {
    count,
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    keep,
    begin(part, bytes) {
      const index = parts.findIndex((one) => one.part === part);
      if (parts[index]?.bytes !== bytes) throw new ImageUnusable(`its ${part} have another length`);
      at = parts.slice(0, index).reduce((sum, before) => sum + before.bytes, headBytes);
      crc = 0;
      expected = parts[index].crc;
    },
    read(into) {
      for (let done = 0; done < into.length; ) {
        const got = fs.readSync(file, into, done, into.length - done, at);
        if (got === 0) throw new ImageUnusable('it was cut');
        done += got;
        at += got;
      }
      crc = crc32(into, crc);
    },
    end() {
      if (crc !== expected) throw new ImageUnusable('its bytes are not those that were written');
    },
    close: () => fs.closeSync(file),
  };
}
