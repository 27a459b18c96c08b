import type { RequestNeeds } from '../formats/neutral/request.ts';
import type { Random } from '../kernel/random.ts';
import { type Blocked, type Choice, dialectFor } from './capability.ts';
import { coolingOf } from './cooling.ts';
import type { Health } from './health.ts';
import {
  backAtMs,
  cannotBeTried,
  hopeOf,
  isClosedOut,
  isUnreachable,
  type Lane,
  reasonOf,
  standingOf,
  triableAtMs,
} from './lane.ts';
import { pick } from './pick.ts';
import { preferredOf } from './prefer.ts';
import type { RouteQuery, UpstreamLimit } from './route.ts';

/** Tells equals apart. */
export interface Draw {
  /** Number of the conversation (`affinityOf`); null: none. Only reorders equals. */
  affinity: number | null;
  /** How much more load a conversation's own target may have; absent: as usual. */
  affinityFactor: number | undefined;
  random: Random;
}

/**
 * `fresh`: choices that this request has not tried. `first`: the same for its first attempt, for which never more than
 * half stay closed; later ones weigh them against repeats (`leastBad`). `own-dialect`: fresh ones that speak the
 * caller's dialect.
 */
export type SurveyScope = 'first' | 'fresh' | 'own-dialect';

/** Share of failures from which a choice comes after all others, whatever its priority: above every tier. */
const failingShare = 0.5;
export const failingTier = 1e12;
/** A choice slower than its `max_first_token` is after those that are not, before those without room or that fail. */
const lateTier = 1e10;

/** Choices that could be asked now. */
export interface Survey {
  /** All choices of the best tier that has a ready one, each with its `lane` set. */
  ready: Choice[];
  tier: number;
  /** The best choice with a lane that is due a probe, if its tier is not below `tier`. */
  due: Choice | null;
  dueLane: Lane | null;
  dueTier: number;
  /** Some choice is closed because of failures above the connection. */
  someClosedOut: boolean;
}

export function survey(
  choices: readonly Choice[],
  scope: SurveyScope,
  query: RouteQuery,
  draw: Draw,
  nowMs: number,
): Survey {
  const found = surveyOnce(choices, scope, query, draw, nowMs);
  if (!found.someClosedOut || scope !== 'first' || !reopenLeastBad(choices, nowMs)) return found;
  return surveyOnce(choices, scope, query, draw, nowMs);
}

/** The same as `survey`, but closed choices stay closed, unless their `reopened` says otherwise. */
export function surveyOnce(
  choices: readonly Choice[],
  scope: SurveyScope,
  query: RouteQuery,
  draw: Draw,
  nowMs: number,
): Survey {
  const none = Number.POSITIVE_INFINITY;
  const found: Survey = { ready: [], tier: none, due: null, dueLane: null, dueTier: none, someClosedOut: false };
  for (const choice of choices) {
    if (choice.unfit !== null || choice.tier > found.tier || choice.spent || choice.running > 0) continue;
    if (scope === 'own-dialect' && dialectFor(choice.target, query.callerDialect) !== query.callerDialect) continue;
    if (!findLane(choice, scope, found, draw, nowMs)) continue;
    const tier = choice.tier + tiersBehind(choice.lane!, query.needs, nowMs);
    if (tier > found.tier) continue;
    if (tier < found.tier) {
      found.tier = tier;
      found.ready.length = 0;
    }
    found.ready.push(choice);
  }
  if (found.dueTier > found.tier) found.due = null;
  return found;
}

/** How far behind the others its lane puts a choice; 0: in its own place. */
export function tiersBehind({ state, pace }: Lane, { stream }: Pick<RequestNeeds, 'stream'>, nowMs: number): number {
  if (hopeOf(state, 'lately', nowMs) < failingShare) return failingTier;
  return pace?.isBehind(stream ? 'stream' : 'whole', nowMs) === true ? lateTier : 0;
}

/** Sets the choice's lane if one is ready; else notes the reason, and a lane that is due. */
function findLane(choice: Choice, scope: SurveyScope, found: Survey, draw: Draw, nowMs: number): boolean {
  let first: Lane | null = null;
  let more: Lane[] | null = null;
  choice.blocked = null;
  for (const lane of choice.lanes) {
    if (choice.tried?.includes(lane)) continue;
    const standing = standingOf(lane, nowMs);
    const closedOut = isClosedOut(lane, standing);
    if (standing === 'ready' || (closedOut && choice.reopened && scope === 'first')) {
      if (first === null) first = lane;
      else if (more === null) more = [first, lane];
      else more.push(lane);
      continue;
    }
    if (closedOut) found.someClosedOut = true;
    if (standing === 'due' && choice.tier < found.dueTier) {
      found.due = choice;
      found.dueLane = lane;
      found.dueTier = choice.tier;
    }
    const backMs = backAtMs(lane, nowMs);
    if (choice.blocked === null || backMs < choice.blocked.backAtMs) {
      choice.blocked = { standing, backAtMs: backMs, reason: reasonOf(lane, nowMs) };
    }
  }
  if (first === null) return false;
  choice.lane = more === null ? first : pick(more, draw.affinity, draw.random, nowMs, draw.affinityFactor);
  choice.blocked = null;
  return true;
}

/**
 * Never more than half of the capable choices stay closed because of failures above the connection: beyond that the
 * least bad are asked as if they were open. False when none is.
 */
export function reopenLeastBad(choices: readonly Choice[], nowMs: number): boolean {
  let fit = 0;
  const out: { choice: Choice; hope: number }[] = [];
  for (const choice of choices) {
    choice.reopened = false;
    if (choice.unfit !== null) continue;
    fit++;
    const hope = closedOutHope(choice, nowMs);
    if (hope !== null) out.push({ choice, hope });
  }
  const surplus = out.length - Math.floor(fit / 2);
  if (surplus <= 0) return false;
  out.sort((a, b) => b.hope - a.hope);
  for (const { choice } of out.slice(0, surplus)) choice.reopened = true;
  return true;
}

/** The hope of its best lane, if it is closed out with all of them; else null. */
function closedOutHope({ lanes }: Choice, nowMs: number): number | null {
  let best: number | null = null;
  for (const lane of lanes) {
    const standing = standingOf(lane, nowMs);
    if (standing === 'ready' || standing === 'due') return null;
    if (isClosedOut(lane, standing)) best = Math.max(best ?? 0, hopeOf(lane.state, 'lately', nowMs));
  }
  return best;
}

/** The choices that the alias prefers among those that are ready. */
export function preferredChoices(
  ready: readonly Choice[],
  { prefer: by, needs }: RouteQuery,
  affinity: number | null,
  health: Health,
  nowMs: number,
): readonly Choice[] {
  return by === undefined ? ready : preferredOf(ready, { by, needs, atMs: health.wallMs(nowMs), nowMs }, affinity);
}

/**
 * After this many failures of one request at one target, a target that could not be reached is checked before it is
 * asked again.
 */
const repeatsMax = 2;

/**
 * When nothing fresh is ready: the choice most likely to answer of all that could be tried at all, repeats and closed
 * ones too, with its `lane` set; null when every lane is limited or refused a connection just now.
 */
export function leastBad(choices: readonly Choice[], nowMs: number): Choice | null {
  let best: Choice | null = null;
  let unreached: Choice | null = null;
  let bestHope = -1;
  for (const choice of choices) {
    if (choice.unfit !== null || choice.running > 0) continue;
    for (const lane of choice.lanes) {
      if (cannotBeTried(standingOf(lane, nowMs))) continue;
      if (choice.tries === 0 && isUnreachable(lane)) unreached = choice;
      const again = hopeOf(lane.state, 'lately', nowMs) * choice.repeatHope;
      const hope = Math.min(hopeOf(lane.state, 'right now', nowMs), again);
      if (hope < bestHope || (hope === bestHope && best !== null && choice.tier >= best.tier)) continue;
      best = choice;
      bestHope = hope;
      choice.lane = lane;
    }
  }
  if (unreached === null || best === null || best.tries < repeatsMax) return best;
  unreached.lane = unreached.lanes.find((lane) => !cannotBeTried(standingOf(lane, nowMs))) ?? null;
  return unreached;
}

/**
 * While some target answers at least so often, a request's further attempts are free; in an outage they draw on the
 * alias's budget, so that it is not multiplied.
 */
const hopefulShare = 0.15;

export function isHopeful(choices: readonly Choice[], nowMs: number): boolean {
  const isLaneHopeful = ({ state }: Lane) => hopeOf(state, 'lately', nowMs) >= hopefulShare;
  return choices.some(({ unfit, lanes }) => unfit === null && lanes.some(isLaneHopeful));
}

/** Whole ms until a capable lane could be tried; null when there is none, or one can be already. */
export function soonestMs(choices: readonly Choice[], nowMs: number): number | null {
  let atMs = Number.POSITIVE_INFINITY;
  for (const { unfit, lanes } of choices) {
    if (unfit !== null) continue;
    for (const lane of lanes) atMs = Math.min(atMs, triableAtMs(lane, nowMs));
  }
  return atMs > nowMs && atMs < Number.POSITIVE_INFINITY ? Math.ceil(atMs - nowMs) : null;
}

/** Each provider whose limit keeps its capable lanes away; null when something else keeps one away, or nothing does. */
export function upstreamLimits(choices: readonly Choice[], tenant: string, nowMs: number): UpstreamLimit[] | null {
  const limits = new Map<string, UpstreamLimit>();
  for (const { unfit, lanes, target } of choices) {
    if (unfit !== null) continue;
    for (const { state } of lanes) {
      const { coolingUntilMs, coolingMessage } = coolingOf(state);
      if (coolingUntilMs <= nowMs) return null;
      const message = coolingMessage?.tenant === tenant ? coolingMessage.text : null;
      if (limits.get(target.provider)?.message == null)
        limits.set(target.provider, { provider: target.provider, message });
    }
  }
  return limits.size === 0 ? null : [...limits.values()];
}

/** Every need that keeps a choice out, once each. */
export function unmetNeeds(choices: readonly Choice[]): string[] {
  return [...new Set(choices.flatMap(({ unmet }) => unmet ?? []))];
}

/** In words: `cooling until …`. */
export function blockedReason(blocked: Blocked, health: Health): string {
  switch (blocked.standing) {
    case 'cooling':
    case 'open':
    case 'full':
      return `${blocked.standing} until ${instant(health.wallMs(blocked.backAtMs))} (${blocked.reason})`;
    case 'refused':
      return `it refused a connection within the last second (${blocked.reason})`;
    case 'probing':
      return `open (${blocked.reason}), another request is testing it`;
    default:
      return `open (${blocked.reason}), due a test`;
  }
}

/** Rounded up to the second, so that it is true at the given time. */
function instant(wallMs: number): string {
  return `${new Date(Math.ceil(wallMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}
