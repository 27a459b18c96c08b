import { putNewest } from '../kernel/put-newest.ts';
import type { HealthHint } from '../routing/health-hints.ts';

/** Hints that a new worker gets: the oldest go first. */
const hintsMax = 5_000;
/** Samples of a usual time that a new worker gets: enough to know it, and few enough to learn better. */
const samplesMax = 200;

/** Hints that any worker has learnt of upstreams, for the others and for those that start later. */
export class HintRelay {
  /** By kind and lane; `untilMs` where it ends without a message. */
  readonly #hints = new Map<string, { hint: HealthHint; untilMs: number }>();

  /** One worker has sent these. */
  take(hints: readonly HealthHint[]): void {
    for (const hint of hints) {
      const lane = `${hint.target} ${hint.credential}`;
      if (hint.kind === 'back') this.#hints.delete(`open ${lane}`);
      else if (hint.kind === 'usual') this.#addUsual(`usual ${hint.of} ${lane}`, hint);
      else {
        const untilMs = 'forMs' in hint ? performance.now() + hint.forMs : Number.POSITIVE_INFINITY;
        putNewest(this.#hints, `${hint.kind} ${lane}`, { hint, untilMs }, hintsMax);
      }
    }
  }

  #addUsual(id: string, hint: HealthHint & { kind: 'usual' }): void {
    const before = this.#hints.get(id)?.hint;
    const known = before?.kind === 'usual' ? before.counts : [];
    const counts = hint.counts.map((count, bucket) => count + (known[bucket] ?? 0));
    const factor = Math.min(1, samplesMax / counts.reduce((sum, count) => sum + count, 0));
    const some = { ...hint, counts: counts.map((count) => count * factor) };
    putNewest(this.#hints, id, { hint: some, untilMs: Number.POSITIVE_INFINITY }, hintsMax);
  }

  /** Hints in force. */
  now(): HealthHint[] {
    const nowMs = performance.now();
    const hints: HealthHint[] = [];
    for (const [id, { hint, untilMs }] of this.#hints) {
      if (untilMs <= nowMs) this.#hints.delete(id);
      else hints.push('forMs' in hint ? { ...hint, forMs: untilMs - nowMs } : hint);
    }
    return hints;
  }
}
