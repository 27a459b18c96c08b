import { putNewest } from '../kernel/put-newest.ts';
import type { HealthHint } from '../routing/health-hints.ts';

/** Hints that a new worker gets: the oldest go first. */
const hintsMax = 5_000;

/** Hints that any worker has learnt of upstreams, for the others and for those that start later. */
export class HintRelay {
  /** By kind and lane; `untilMs` where it ends without a message. */
  readonly #hints = new Map<string, { hint: HealthHint; untilMs: number }>();

  /** One worker has sent these. */
  take(hints: readonly HealthHint[]): void {
    for (const hint of hints) {
      const lane = `${hint.target} ${hint.credential}`;
      if (hint.kind === 'back') this.#hints.delete(`open ${lane}`);
      else {
        const untilMs = 'forMs' in hint ? performance.now() + hint.forMs : Number.POSITIVE_INFINITY;
        putNewest(this.#hints, `${hint.kind} ${lane}`, { hint, untilMs }, hintsMax);
      }
    }
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
