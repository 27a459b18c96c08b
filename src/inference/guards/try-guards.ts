import type { GuardConfig } from '../../config/schema.ts';
import type { TextPart, Texts } from '../../formats/neutral/json-texts.ts';
import type { Check } from '../../guards/check.ts';
import { type TriedVerdict, triedVerdicts } from '../../guards/kinds.ts';
import { findingsOf } from './findings-of.ts';
import { canMask, isRead } from './guard-share.ts';
import { builtInCheck, partsReadBy } from './guard-steps.ts';
import { sizesOf, tooLarge } from './size-guard.ts';

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
  on(texts: Texts): Promise<Tried>;
  /** Those that ask a service outside, or read answers alone. */
  notTried: readonly string[];
}

/** A trial of these guards on texts of requests, whatever directions they read. */
export async function guardTrial(guards: Readonly<Record<string, GuardConfig>>): Promise<GuardTrial> {
  const ready: { name: string; config: GuardConfig; check: Check | null }[] = [];
  const notTried: string[] = [];
  for (const [name, config] of Object.entries(guards)) {
    const check = await builtInCheck(config);
    if (check === null && config.check !== 'sizes') notTried.push(name);
    else ready.push({ name, config, check });
  }
  const on = async (texts: Texts): Promise<Tried> => {
    const unscanned = texts.unread.filter(isRead).length;
    const parts = texts.parts.filter((part) => part.kind !== 'label' && isRead(part));
    const tried: Tried['guards'] = [];
    for (const { name, config, check } of ready) {
      const reads = partsReadBy(config);
      if (check === null) {
        tried.push({ name, ...sized(config, texts, reads) });
        continue;
      }
      // A text alone is of no part.
      const read = parts.filter(({ path, kind }) => reads === null || path.length === 0 || reads.has(kind));
      tried.push({ name, ...(await lookedAt(config, check, read, unscanned)) });
    }
    return {
      verdict: triedVerdicts.find((verdict) => tried.some((one) => one.verdict === verdict)) ?? 'pass',
      found: [...new Set(tried.flatMap(({ findings }) => Object.keys(findings)))].sort(),
      guards: tried,
      unscanned,
    };
  };
  return { on, notTried };
}

function sized(config: GuardConfig, texts: Texts, reads: ReadonlySet<string> | null) {
  const sizes = sizesOf(texts, ({ kind, path }) => reads === null || path.length === 0 || reads.has(kind));
  const findings = Object.fromEntries(tooLarge(config, sizes).map((kind) => [kind, 1]));
  return { verdict: verdictOf(config, Object.keys(findings).length > 0, false, 0), findings };
}

async function lookedAt(config: GuardConfig, check: Check, parts: readonly TextPart[], unscanned: number) {
  const findings: Record<string, number> = {};
  let lasts = false;
  const found = await findingsOf(
    check,
    parts.map(({ text }) => text),
  );
  for (const [index, part] of parts.entries()) {
    for (const { kind } of found[index] ?? []) {
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
