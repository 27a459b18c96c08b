import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ExpectedUse } from '../../../books/metering/batch-store.ts';
import { newRequestId } from '../../../kernel/ids.ts';
import { readBatchLine } from '../batch-line.ts';
import type { BatchRun } from '../batch-parts.ts';
import { knownLines } from '../known-lines.ts';
import { linesOf } from '../lines-of.ts';
import { createLoopRoom } from '../loop-room.ts';
import type { StoredFile } from '../stored-files.ts';
import { customIdOf } from './batch-part.ts';
import type { PreparedLine } from './prepare-line.ts';
import { upstreamBatches } from './upstream-batches.ts';
import { lineBytesMax } from './upstream-client.ts';

/** Lines that may become one batch at a provider. Nothing is noted or held of them yet. */
export interface GatheredLines {
  place: PreparedLine['place'];
  lines: readonly GatheredLine[];
  content: Pick<StoredFile, 'id' | 'tenant' | 'bytes'>;
}

export interface GatheredLine {
  seq: number;
  requestId: string;
  /** Digest of its custom_id. */
  key: string;
  /** Where the content ends with it. */
  endBytes: number;
  costMilli: number;
  expected: ExpectedUse;
  parts: PreparedLine['parts'];
}

/** Places that are open together: lines for others are asked from here. */
const placesMax = 16;

/**
 * Sorts all lines that were never begun by where a provider's batch may have them, and writes the content of those
 * batches. Lines that nobody takes, and the second of two with one custom_id, are left out. `ahead`: nano-USD that lines at
 * providers are expected to use, by budgets of end users and tags; those that are gathered are added, and those of the
 * parts `unread`, which an earlier process sent. Lines for which these have nothing left are given to `wait`.
 */
export async function gatherLines(
  run: BatchRun,
  input: StoredFile,
  over: AbortSignal,
  { ahead, unread, wait }: { ahead: Map<string, number>; unread: ReadonlySet<number>; wait(seq: number): void },
): Promise<GatheredLines[]> {
  const { batch, calls, clock, signal } = run;
  const known = knownLines(run, () => true);
  const room = createLoopRoom(run.waiting);
  const keys = new Set<string>();
  const open = new Map<string, Spool>();
  const done: GatheredLines[] = [];
  let seq = 0;
  try {
    for await (const bytes of linesOf(run.files.read(input), lineBytesMax)) {
      seq += 1;
      if (signal.aborted || over.aborted) break;
      const line = readBatchLine(batch, bytes);
      if ('failure' in line) continue;
      const key = digestOf(line.customId);
      const isSecond = keys.has(key);
      keys.add(key);
      const begun = await known(seq);
      if (isSecond || (begun !== null && (begun.part === null || !unread.has(begun.part)))) continue;
      await room.wait();
      const requestId = newRequestId(clock.wallMs());
      const { keyId, endpoint, headers } = batch;
      const prepared = await calls.prepare({ requestId, keyId, endpoint, body: line.body, headers });
      if (prepared === null) continue;
      if (begun !== null) {
        addAhead(ahead, prepared);
        continue;
      }
      if (prepared.parts.some(({ scope, usdNano }) => usdNano <= (ahead.get(scope) ?? 0))) {
        wait(seq);
        continue;
      }
      const { format, url } = prepared.place;
      const text = upstreamBatches[format].line(customIdOf(requestId, seq), url, prepared.body);
      const at = JSON.stringify(prepared.place);
      let spool = open.get(at);
      if (spool?.isFull(prepared, text) === true) {
        open.delete(at);
        done.push(await spool.end());
        spool = undefined;
      }
      if (spool === undefined) {
        if (open.size >= placesMax) continue;
        spool = new Spool(run, prepared.place);
        open.set(at, spool);
      }
      addAhead(ahead, prepared);
      await spool.add({ seq, requestId, key }, prepared, text);
    }
  } finally {
    for (const spool of open.values()) done.push(await spool.end());
  }
  return done;
}

/** Adds what a line is expected to use of its budgets. */
export function addAhead(ahead: Map<string, number>, line: Pick<PreparedLine, 'parts' | 'expected'>): void {
  for (const { scope } of line.parts) ahead.set(scope, (ahead.get(scope) ?? 0) + line.expected.usdNano);
}

export function digestOf(customId: string): string {
  return createHash('sha256').update(customId).digest('base64url');
}

/** The content of one batch on its way into a file. */
class Spool {
  readonly #place: PreparedLine['place'];
  readonly #stream = new PassThrough();
  readonly #file: Promise<StoredFile>;
  readonly #lines: GatheredLine[] = [];
  #bytes = 0;
  #weight = 0;

  constructor({ files, batch }: BatchRun, place: PreparedLine['place']) {
    this.#place = place;
    const file = { purpose: 'batch', name: `${batch.id}.jsonl`, lifetimeMs: null };
    this.#file = files.write(batch.tenant, file, this.#stream);
    // The one who waits for room in the stream learns of it.
    this.#stream.on('error', () => undefined);
    this.#file.catch((error: Error) => this.#stream.destroy(error));
  }

  isFull({ weight, limits: { linesMax, bytesMax } }: PreparedLine, text: string): boolean {
    return this.#weight + weight > linesMax || this.#bytes + Buffer.byteLength(text) + 1 > bytesMax;
  }

  async add(
    line: Pick<GatheredLine, 'seq' | 'requestId' | 'key'>,
    { weight, costMilli, expected, parts }: PreparedLine,
    text: string,
  ): Promise<void> {
    const written = Buffer.from(this.#bytes === 0 ? text : `\n${text}`);
    this.#bytes += written.length;
    this.#weight += weight;
    this.#lines.push({ ...line, endBytes: this.#bytes, costMilli, expected, parts });
    if (!this.#stream.write(written)) await once(this.#stream, 'drain');
  }

  async end(): Promise<GatheredLines> {
    this.#stream.end();
    return { place: this.#place, lines: this.#lines, content: await this.#file };
  }
}
