import { tierOf, unmetNeed, unmetSize } from './capability.ts';
import type { Health } from './health.ts';
import type { Lane, LaneState, Standing } from './lane.ts';
import { hashText, type Pickable } from './pick.ts';
import type { RouteCandidate, RouteQuery } from './route.ts';
import type { Target } from './target.ts';

const noLanes: readonly Lane[] = [];

/** Where a prompt surely does not fit: after every fallback, and before what fails. */
const noRoomTier = 1e11;

/** Reason that keeps a choice away. */
export interface Blocked {
  standing: Standing;
  backAtMs: number;
  /** The reason in words. */
  reason: string;
}

/** One candidate as one request sees it. */
export class Choice implements Pickable {
  readonly target: Target;
  readonly lanes: readonly Lane[];
  /** Lower is tried first; equal ones are picked among. */
  readonly tier: number;
  /** Why it is out, in words; null when it is not. */
  unfit: string | null = null;
  /** The missing ability of a target that is out for it. */
  unmet: string | null = null;
  readonly weight: number;
  /** The lane it would use, as of the last survey. */
  lane: Lane | null = null;
  tried: Lane[] | null = null;
  /** Attempts without an answer. */
  tries = 0;
  /** The rest of its hope after them, 0 to 1. */
  repeatHope = 1;
  /** Attempts that run. */
  running = 0;
  /** Tried, and another credential would not help: only repeated when nothing else remains. */
  spent = false;
  /** One failure was counted against it. */
  blamed = false;
  /** Closed, but asked nevertheless: more than half of the targets would be closed. */
  reopened = false;
  /** Words for its last attempt; null before one. */
  picked: 'picked' | 'picked as a probe' | 'picked as a hedge' | 'picked as the least bad' | null = null;
  /** If no lane was ready at the last survey: the one that is back first. */
  blocked: Blocked | null = null;

  /** `sizes` says whether a context that is too small by our estimate keeps it out. */
  constructor(candidate: RouteCandidate, query: RouteQuery, health: Health, sizes: 'judged' | 'not judged' = 'judged') {
    this.target = candidate.target;
    this.weight = candidate.target.weight;
    if (candidate.rank > 0 && query.fallback === 'off') {
      this.unfit = 'not allowed: no fallback wanted';
    } else {
      const { target } = candidate;
      const need = unmetNeed(target, query.needs) ?? (sizes === 'judged' ? unmetSize(target, query.needs) : null);
      if (need !== null) this.cannot(need);
    }
    this.lanes = this.unfit === null ? health.lanes(candidate.target) : noLanes;
    const tier = this.unfit === null ? tierOf(candidate, query.needs) : Number.POSITIVE_INFINITY;
    const room = this.lanes[0]?.state.room ?? null;
    this.tier = room !== null && query.needs.inputTokensEstimate > room.tokens ? tier + noRoomTier : tier;
  }

  cannot(need: string): void {
    this.unmet = need;
    this.unfit = `not capable: ${need}`;
  }

  get key(): number {
    return hashText(this.target.id);
  }

  get state(): LaneState {
    return this.lane!.state;
  }
}

/** The candidates as one request sees them: where an estimate would keep out the last ones, they judge it themselves. */
export function choicesOf(query: RouteQuery, health: Health): readonly Choice[] {
  const choices = query.targets.map((candidate) => new Choice(candidate, query, health));
  for (const { unfit } of choices) if (unfit === null) return choices;
  return query.targets.map((candidate) => new Choice(candidate, query, health, 'not judged'));
}
