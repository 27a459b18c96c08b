import type { GuardConfig } from '../../config/schema.ts';
import type { TextPart, Texts } from '../../formats/neutral/json-texts.ts';
import { type Check, findingsIn } from '../../guards/check.ts';
import { canMask, isRead } from './guard-share.ts';
import { builtInCheck, partsReadBy } from './guard-steps.ts';

export const triedVerdicts = ['unscanned', 'blocked', 'routed', 'masked', 'flagged', 'pass'] as const;
export type TriedVerdict = (typeof triedVerdicts)[number];

/** What guards would do with a request. */
export interface Tried {
  /** The one that decides, the first of `triedVerdicts`. */
  verdict: TriedVerdict;
  /** Kinds that some guard found, in alphabetical order. */
  found: string[];
  guards: { name: string; verdict: TriedVerdict; findings: Record<string, number> }[];
  /** Parts that no guard can read. */
  unscanned: number;
}

/** Guards as they would act if they enforced. */
export interface GuardTrial {
  on(texts: Texts): Tried;
  /** Those that ask a service outside, which a trial does not. */
  notTried: readonly string[];
}

/** A trial of these guards on texts of requests, whatever directions they read. */
export async function guardTrial(guards: Readonly<Record<string, GuardConfig>>): Promise<GuardTrial> {
  const ready: { name: string; config: GuardConfig; check: Check }[] = [];
  const notTried: string[] = [];
  for (const [name, config] of Object.entries(guards)) {
    const check = await builtInCheck(config);
    if (check === null) notTried.push(name);
    else ready.push({ name, config, check });
  }
  const on = (texts: Texts): Tried => {
    const unscanned = texts.unread.filter(isRead).length;
    const parts = texts.parts.filter((part) => part.kind !== 'label' && isRead(part));
    const tried = ready.map(({ name, config, check }) => {
      const reads = partsReadBy(config);
      // A text alone is of no part.
      const read = parts.filter(({ path, kind }) => reads === null || path.length === 0 || reads.has(kind));
      return { name, ...lookedAt(config, check, read, unscanned) };
    });
    return {
      verdict: triedVerdicts.find((verdict) => tried.some((one) => one.verdict === verdict)) ?? 'pass',
      found: [...new Set(tried.flatMap(({ findings }) => Object.keys(findings)))].sort(),
      guards: tried,
      unscanned,
    };
  };
  return { on, notTried };
}

function lookedAt(config: GuardConfig, check: Check, parts: readonly TextPart[], unscanned: number) {
  const findings: Record<string, number> = {};
  let lasts = false;
  for (const part of parts) {
    for (const { kind } of findingsIn(check, part.text, 0, part.text.length)) {
      findings[kind] = (findings[kind] ?? 0) + 1;
      lasts ||= !canMask(part);
    }
  }
  return { verdict: verdictOf(config, Object.keys(findings).length > 0, lasts, unscanned), findings };
}

function verdictOf(
  { action, on_error }: GuardConfig,
  isFound: boolean,
  lasts: boolean,
  unscanned: number,
): TriedVerdict {
  if (unscanned > 0 && on_error === 'deny') return 'unscanned';
  if (!isFound) return 'pass';
  if (action === 'mask') return lasts ? 'blocked' : 'masked';
  return ({ block: 'blocked', flag: 'flagged', route: 'routed' } as const)[action];
}
