import type { BegunNow } from '../../../books/metering/batch-store.ts';
import { madeWith, sealFacts } from '../batch-facts.ts';
import { atProvider, type BatchRun, type UpstreamAccess } from '../batch-parts.ts';
import type { LinesHeld } from '../line-calls.ts';
import { LeaseLost } from '../line-notes.ts';
import type { UpstreamBatches } from './batch-api.ts';
import type { BatchPart } from './batch-part.ts';
import { countable } from './prepare-line.ts';
import { upstreamBatches } from './upstream-batches.ts';
import type { UpstreamClient } from './upstream-client.ts';

const rowsAtOnce = 100;

/** The parts of one batch: what is noted of them, and what this process holds for them. Rejects with a LeaseLost. */
export class StoredParts {
  readonly all: BatchPart[];
  /** Providers whose batch API took nothing. */
  readonly closed = new Set<string>();
  readonly #run: BatchRun;
  readonly #resumed: ReadonlySet<number>;
  readonly #holds = new Map<number, LinesHeld>();
  #aheadSucceeded: number;

  constructor(run: BatchRun) {
    this.#run = run;
    this.all = (run.batch.parts ?? []).map((part) => ({ ...part }));
    this.#resumed = new Set(this.all.map(({ id }) => id));
    this.#aheadSucceeded = run.batch.aheadSucceeded;
  }

  /** Parts that are at a provider, or go there. */
  open(): BatchPart[] {
    return this.all.filter(({ at }) => at !== 'ended' && at !== 'returned');
  }

  /** Parts whose answers are here, and not charged yet. */
  returned(): BatchPart[] {
    return this.all.filter(({ at }) => at === 'returned');
  }

  /** This process has made it. */
  isOurs(id: number): boolean {
    return !this.#resumed.has(id);
  }

  /** A part whose lines are held, each of them noted; it is ready to be sent then. */
  async add(
    part: Omit<BatchPart, 'id' | 'at'>,
    held: LinesHeld,
    lines: readonly Omit<BegunNow, 'part'>[],
  ): Promise<BatchPart> {
    const { store, lease } = this.#run;
    const made: BatchPart = { ...part, id: this.all.length, at: 'noting' };
    this.all.push(made);
    this.#holds.set(made.id, held);
    await this.note();
    for (let from = 0; from < lines.length; from += rowsAtOnce) {
      const rows = lines.slice(from, from + rowsAtOnce).map((line) => ({ ...line, part: made.id }));
      if ((await store.note(lease, rows, [])) === null) throw new LeaseLost('the lease is lost');
    }
    made.at = 'ready';
    await this.note();
    return made;
  }

  /** Holds again what the process before this one held, and gives up what it had not noted to the end. */
  async resume(): Promise<void> {
    const { calls, batch } = this.#run;
    for (const { upstream, place } of this.all) {
      if (upstream !== null) this.#run.upstream.taken.add(atProvider(place.provider, upstream));
    }
    for (const part of [...this.open(), ...this.returned()]) {
      if (part.at === 'noting') {
        await this.end(part);
        continue;
      }
      const { place, costMilli } = part;
      const { alias, tier } = place;
      const held = await calls.hold({ keyId: batch.keyId, alias, tier, costMilli, expected: null });
      if (held.kind === 'held') this.#holds.set(part.id, held);
    }
  }

  async note(): Promise<void> {
    const { batch, store, lease, sealer } = this.#run;
    const { id, errors } = batch;
    const facts = sealFacts(sealer, { ...madeWith(batch), errors, parts: this.all }, id);
    const expected = { tokens: 0, usdNano: 0 };
    for (const part of [...this.open(), ...this.returned()]) {
      expected.tokens += part.expected.tokens;
      expected.usdNano += part.expected.usdNano;
    }
    const held = { tokens: countable(expected.tokens), usdNano: countable(expected.usdNano) };
    const away = { facts, expected: held, aheadSucceeded: this.#aheadSucceeded };
    if (!(await store.away(lease, away))) throw new LeaseLost('the lease is lost');
  }

  /** So many of its lines were answered there. */
  async noteProgress(part: BatchPart, reported: number): Promise<void> {
    const succeeded = Math.max(0, Math.min(part.lines, Math.floor(reported) || 0));
    if (succeeded === part.succeeded) return;
    const { batch, store, clock } = this.#run;
    part.succeeded = succeeded;
    const here = (await store.findBatch(batch.tenant, batch.id, clock.wallMs()))?.succeeded ?? 0;
    const there = this.open().reduce((sum, one) => sum + one.succeeded, 0);
    this.#aheadSucceeded = Math.max(this.#aheadSucceeded, here + there);
    await this.note();
  }

  async sent(part: BatchPart, upstream: string): Promise<void> {
    part.upstream = upstream;
    this.#run.upstream.taken.add(atProvider(part.place.provider, upstream));
    part.at = 'sent';
    await this.note();
    await this.#discard(part);
  }

  /** Its lines have their answers here, or are asked from here. */
  async takenBack(part: BatchPart): Promise<void> {
    const { store, lease } = this.#run;
    if (!(await store.releaseLines(lease, part.id))) throw new LeaseLost('the lease is lost');
    part.at = 'returned';
    await this.note();
  }

  /** The cost of its lines is charged, or will be held by each of them. */
  async end(part: BatchPart): Promise<void> {
    if (part.at !== 'returned') await this.takenBack(part);
    part.at = 'ended';
    await this.note();
    if (part.upstream !== null) this.#run.upstream.taken.delete(atProvider(part.place.provider, part.upstream));
    this.#holds.get(part.id)?.release();
    this.#holds.delete(part.id);
    if (part.upstream === null) await this.#discard(part);
  }

  /** Its provider did not take it, and gets no further lines of this batch. */
  async giveUp(part: BatchPart, why: string): Promise<void> {
    const { upstream, batch } = this.#run;
    const { provider } = part.place;
    this.closed.add(provider);
    upstream.onTrouble(
      `the batch API of ${provider} did not take lines of ${batch.id}, which are asked one by one: ${why}`,
    );
    await this.end(part);
  }

  /** Gives back what is held in this process. */
  close(): void {
    for (const held of this.#holds.values()) held.release();
    this.#holds.clear();
  }

  async #discard({ content: { id, fileBytes: bytes } }: BatchPart): Promise<void> {
    const { files, batch } = this.#run;
    await files.withdraw({ id, bytes, tenant: batch.tenant });
  }
}

export function apiOf({ place }: BatchPart): UpstreamBatches {
  return upstreamBatches[place.format];
}

/** Null: its provider or the credential is no longer configured. */
export function clientOf(upstream: UpstreamAccess, { place }: BatchPart): UpstreamClient | null {
  return upstream.clientOf(place.provider, place.credential);
}
