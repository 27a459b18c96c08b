import { seededRandom } from '../kernel/random.ts';
import { type Choice, choicesOf } from './capability.ts';
import type { Health } from './health.ts';
import { sparedMax } from './lane.ts';
import { preferenceReason } from './prefer.ts';
import type { RouteQuery, Verdict } from './route.ts';
import {
  blockedReason,
  failingTier,
  leastBad,
  preferredChoices,
  reopenLeastBad,
  surveyOnce,
  tiersBehind,
  unmetNeeds,
} from './survey.ts';

/** The way that a request would take, without sending it. */
export interface Explanation {
  /** In the order of tiers; those that are out come last. */
  candidates: readonly ExplainedCandidate[];
  /** The missing ability of every candidate, if that is why none remains. */
  unmet: readonly string[];
}

export interface ExplainedCandidate extends Verdict {
  rank: number;
  priority: number;
  weight: number;
}

/** Only looks: begins nothing, takes no probe, draws nothing from the budget. */
export function explainRoute(query: RouteQuery, health: Health, nowMs: number): Explanation {
  const choices = choicesOf(query, health)
    .map((choice, at) => ({ candidate: query.targets[at]!, choice }))
    .sort((a, b) => (a.choice.tier === b.choice.tier ? 0 : a.choice.tier - b.choice.tier));
  // Alone, each choice is examined even if a better tier is ready. The drawn credential does not show.
  const draw = { affinity: null, affinityFactor: undefined, random: seededRandom(0) };
  const all = choices.map(({ choice }) => choice);
  reopenLeastBad(all, nowMs);
  const ready: Choice[] = [];
  const due: Choice[] = [];
  for (const { choice } of choices) {
    const found = surveyOnce([choice], 'first', query, draw, nowMs);
    if (found.ready.length > 0) ready.push(choice);
    else if (found.due !== null) due.push(choice);
  }
  const last = ready.length + due.length === 0 ? leastBad(all, nowMs) : null;
  const behindOf = (choice: Choice) => tiersBehind(choice.lane!, query.needs, nowMs);
  const firstTier = Math.min(...ready.map((choice) => choice.tier + behindOf(choice)));
  const first = ready.filter((choice) => choice.tier + behindOf(choice) === firstTier);
  const preferred = preferredChoices(first, query, null, health, nowMs);
  const describe = (choice: Choice) =>
    query.prefer === undefined || !first.includes(choice)
      ? ''
      : `, ${query.prefer}: ${preferenceReason(choice, { by: query.prefer, needs: query.needs, atMs: health.wallMs(nowMs), nowMs })}`;
  const candidates = choices.map(({ candidate, choice }) => ({
    target: choice.target.id,
    rank: candidate.rank,
    priority: choice.target.priority,
    weight: choice.weight,
    verdict: dryVerdict(choice, { first: preferred, due, last, health, behindOf }) + describe(choice),
  }));
  const fits = choices.some(({ choice }) => choice.unfit === null);
  return { candidates, unmet: fits ? [] : unmetNeeds(all) };
}

interface Places {
  first: readonly Choice[];
  due: readonly Choice[];
  last: Choice | null;
  health: Health;
  behindOf(choice: Choice): number;
}

function dryVerdict(choice: Choice, { first, due, last, health, behindOf }: Places): string {
  if (choice.unfit !== null) return choice.unfit;
  const { blocked } = choice;
  const why = blocked === null ? '' : blockedReason(blocked, health);
  if (due.includes(choice)) {
    const [one] = first;
    const goesFirst = one === undefined || choice.tier <= one.tier;
    if (goesFirst && one !== undefined && blocked?.reason === 'streams break off')
      return `${why}: asked after others have served ${sparedMax} requests, as a probe`;
    return `${why}: ${goesFirst ? 'asked first, as a probe' : 'asked if those before it fail'}`;
  }
  if (choice === last) return `${why}: asked nevertheless, because the others are worse`;
  if (blocked !== null) return why;
  if (!first.includes(choice)) return `ready${behindReason(behindOf(choice))}: asked if those before it fail`;
  return first.length === 1 ? 'ready: picked' : `ready: one of ${first.length} to pick from`;
}

function behindReason(behind: number): string {
  if (behind === 0) return '';
  return behind === failingTier
    ? ', but more requests fail than succeed'
    : ', but its first tokens take longer than its max_first_token';
}
