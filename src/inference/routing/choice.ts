import type { Random } from '../../kernel/random.ts';
import { hashText } from './affinity.ts';
import { tierOf, unmetNeed } from './candidates.ts';
import type { Health } from './health.ts';
import { backAtMs, type Lane, type LaneState, reasonOf, type Standing, standingOf } from './lane.ts';
import { type Pickable, pick } from './pick.ts';
import type { RouteCandidate, RouteQuery } from './route.ts';
import { dialectFor, type Target } from './target.ts';

const noLanes: readonly Lane[] = [];

/** One candidate as one request sees it. */
export class Choice implements Pickable {
  readonly target: Target;
  readonly rank: number;
  readonly lanes: readonly Lane[];
  /** Lower is tried first; equal ones are picked among. */
  readonly tier: number;
  /** Why it is out, in words; null when it is not. */
  unfit: string | null = null;
  /** If it is out for what it cannot do: what that is. */
  unmet: string | null = null;
  readonly weight: number;
  readonly key: number;
  /** The lane it would use, as of the last survey. */
  lane: Lane | null = null;
  tried: Lane[] | null = null;
  /** Attempts that came back with nothing. */
  tries = 0;
  /** Tried, and another credential would not help: only repeated when nothing else remains. */
  spent = false;
  /** Words for its last attempt; null before one. */
  picked: 'picked' | 'picked as a probe' | null = null;
  /** If no lane was ready at the last survey: the one that is back first. */
  blocked: Blocked | null = null;

  constructor(candidate: RouteCandidate, query: RouteQuery, health: Health) {
    this.target = candidate.target;
    this.rank = candidate.rank;
    this.weight = candidate.target.weight;
    this.key = query.affinity === null ? 0 : hashText(candidate.target.id);
    if (candidate.rank > 0 && query.fallback === 'off') {
      this.unfit = 'not allowed: no fallback wanted';
    } else {
      const need = unmetNeed(candidate.target, query.needs);
      if (need !== null) this.cannot(need);
    }
    this.tier = this.unfit === null ? tierOf(candidate, query.needs) : Number.POSITIVE_INFINITY;
    this.lanes = this.unfit === null ? health.lanes(candidate.target) : noLanes;
  }

  cannot(need: string): void {
    this.unmet = need;
    this.unfit = `not capable: ${need}`;
  }

  get state(): LaneState {
    return this.lane!.state;
  }
}

export interface Blocked {
  standing: Standing;
  backAtMs: number;
  /** Why, in words. */
  reason: string;
}

/**
 * `fresh`: what this request has not tried. `own-dialect`: of these, what speaks as the caller. `any`: repeats too,
 * the least tried first.
 */
export type SurveyScope = 'fresh' | 'own-dialect' | 'any';

/** Above every tier. */
const tierPerTry = 1e12;

/** What could be asked now. */
export interface Survey {
  /** All choices of the best tier that has a ready one, each with its `lane` set. */
  ready: Choice[];
  tier: number;
  /** The best choice with a lane that is due a probe, where its tier is not below `tier`. */
  due: Choice | null;
  dueLane: Lane | null;
  dueTier: number;
}

export function survey(
  choices: readonly Choice[],
  scope: SurveyScope,
  query: RouteQuery,
  random: Random,
  nowMs: number,
): Survey {
  const none = Number.POSITIVE_INFINITY;
  const found: Survey = { ready: [], tier: none, due: null, dueLane: null, dueTier: none };
  for (const choice of choices) {
    const tier = scope === 'any' ? choice.tier + choice.tries * tierPerTry : choice.tier;
    if (choice.unfit !== null || tier > found.tier) continue;
    if (scope !== 'any' && choice.spent) continue;
    if (scope === 'own-dialect' && dialectFor(choice.target, query.callerDialect) !== query.callerDialect) continue;
    if (!findLane(choice, tier, scope, found, query, random, nowMs)) continue;
    if (tier < found.tier) {
      found.tier = tier;
      found.ready.length = 0;
    }
    found.ready.push(choice);
  }
  if (found.dueTier > found.tier) found.due = null;
  return found;
}

/** Sets the choice's lane if one is ready; else notes what blocks it, and a lane that is due. */
function findLane(
  choice: Choice,
  tier: number,
  scope: SurveyScope,
  found: Survey,
  query: RouteQuery,
  random: Random,
  nowMs: number,
): boolean {
  let first: Lane | null = null;
  let more: Lane[] | null = null;
  choice.blocked = null;
  for (const lane of choice.lanes) {
    if (scope !== 'any' && choice.tried?.includes(lane)) continue;
    const standing = standingOf(lane, nowMs);
    if (standing === 'ready') {
      if (first === null) first = lane;
      else if (more === null) more = [first, lane];
      else more.push(lane);
      continue;
    }
    if (standing === 'due' && tier < found.dueTier) {
      found.due = choice;
      found.dueLane = lane;
      found.dueTier = tier;
    }
    const backMs = backAtMs(lane, nowMs);
    if (choice.blocked === null || backMs < choice.blocked.backAtMs) {
      choice.blocked = { standing, backAtMs: backMs, reason: reasonOf(lane, nowMs) };
    }
  }
  if (first === null) return false;
  choice.lane = more === null ? first : pick(more, query.affinity, random, nowMs);
  choice.blocked = null;
  return true;
}

/** Every need that keeps a choice out, once each. */
export function unmetNeeds(choices: readonly Choice[]): string[] {
  const unmet = new Set<string>();
  for (const choice of choices) if (choice.unmet !== null) unmet.add(choice.unmet);
  return [...unmet];
}
