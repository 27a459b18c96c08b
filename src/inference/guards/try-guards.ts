import type { GuardConfig } from '../../config/schema.ts';
import type { TextPart, Texts } from '../../formats/neutral/json-texts.ts';
import type { Check, Finding } from '../../guards/check.ts';
import { formChecks, type TriedVerdict, triedVerdicts } from '../../guards/kinds.ts';
import { createSchemaCheck } from '../../guards/schema-check.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { findingsOfParts } from './findings-of.ts';
import { canMask } from './guard-share.ts';
import { builtInCheck, partsReadBy } from './guard-steps.ts';
import { MaskBook } from './mask-book.ts';
import { sizesOf, tooLarge } from './size-guard.ts';

/** Verdict of guards on a request that nobody sends. */
export interface Tried {
  /** The one that decides, the first of `triedVerdicts`. */
  verdict: TriedVerdict;
  /** Kinds that some guard found, in alphabetical order. */
  found: string[];
  guards: { name: string; verdict: TriedVerdict; findings: Record<string, number> }[];
  /** Parts that no guard can read. */
  unscanned: number;
  /** A text alone as it would go on; null: it is blocked or not changed, or these are the texts of a request. */
  masked: string | null;
}

/** Guards as they would act if they enforced. */
export interface GuardTrial {
  on(texts: Texts, of: 'request' | 'answer'): Promise<Tried>;
  /** Guards that ask a service outside, or read answers alone and got none. */
  notTried(): string[];
  close(): Promise<void>;
}

/** A trial of these guards on texts of requests and answers, whatever directions they read. */
export async function guardTrial(guards: Readonly<Record<string, GuardConfig>>): Promise<GuardTrial> {
  const ready: { name: string; config: GuardConfig; check: Check | null }[] = [];
  const notTried: string[] = [];
  const schemas = createSchemaTrial();
  let hasAnswers = false;
  for (const [name, config] of Object.entries(guards)) {
    const check = await builtInCheck(config);
    if (check === null && !isFormCheck(config)) notTried.push(name);
    else ready.push({ name, config, check });
  }
  const on: GuardTrial['on'] = async (texts, of) => {
    hasAnswers ||= of === 'answer';
    const unscanned = texts.unread.length;
    const parts = texts.parts.filter((part) => part.kind !== 'label' || part.names !== undefined);
    const tried: Tried['guards'] = [];
    const masks: Finding[] = [];
    let bytes = 0;
    for (const { name, config, check } of ready) {
      if (config.check === 'json-schema') {
        if (of === 'answer') tried.push({ name, ...(await schemas.look(config, parts)) });
        continue;
      }
      const reads = partsReadBy(config);
      if (check === null) {
        tried.push({ name, ...sized(config, texts, reads) });
        continue;
      }
      // A text alone is of no part.
      const read = parts.filter(
        ({ path, kind, names = kind }) => reads === null || path.length === 0 || reads.has(names),
      );
      const { masks: more, bytes: unreadBytes, ...checked } = await findingsIn(config, check, read, unscanned);
      masks.push(...more);
      bytes = Math.max(bytes, unreadBytes);
      tried.push({ name, ...checked });
    }
    const verdict = triedVerdicts.find((verdict) => tried.some((one) => one.verdict === verdict)) ?? 'pass';
    const [only] = parts;
    return {
      verdict,
      found: [...new Set(tried.flatMap(({ findings }) => Object.keys(findings)))].sort(),
      guards: tried,
      unscanned: unscanned + bytes,
      masked: verdict === 'masked' && only?.path.length === 0 ? maskedText(only.text, masks) : null,
    };
  };
  return {
    on,
    notTried: () => [
      ...notTried,
      ...ready.filter(({ config }) => config.check === 'json-schema' && !hasAnswers).map(({ name }) => name),
    ],
    close: schemas.close,
  };
}

const isFormCheck = ({ check }: GuardConfig) => formChecks.some((one) => one === check);

/** Schemas that take for ever are not tried on a thousand answers. */
const unansweredMax = 3;

/** The trial of answers against schemas, in a thread of this trial: no caller waits for it, so it may load for long. */
function createSchemaTrial() {
  const check = createSchemaCheck(20_000);
  const unanswered = new Map<GuardConfig, number>();
  return {
    async look(config: GuardConfig, parts: readonly TextPart[]) {
      const answer = parts.map(({ text }) => text).join('');
      const lost = unanswered.get(config) ?? 0;
      const { schema = {} } = config;
      const emptyAnswer = answer === '' ? { why: null } : null;
      const schemaResult =
        emptyAnswer ?? (lost < unansweredMax ? await check.look('', answer, schema as JsonObject) : null);
      if (schemaResult === null) unanswered.set(config, lost + 1);
      const findings: Record<string, number> = (schemaResult?.why ?? null) === null ? {} : { schema: 1 };
      return {
        verdict: verdictOf(config, Object.keys(findings).length > 0, false, schemaResult === null ? 1 : 0),
        findings,
      };
    },
    close: check.close,
  };
}

function sized(config: GuardConfig, texts: Texts, reads: ReadonlySet<string> | null) {
  const sizes = sizesOf(texts, ({ kind, path }) => reads === null || path.length === 0 || reads.has(kind));
  const findings = Object.fromEntries(tooLarge(config, sizes).map((kind) => [kind, 1]));
  return { verdict: verdictOf(config, Object.keys(findings).length > 0, false, 0), findings };
}

async function findingsIn(config: GuardConfig, check: Check, parts: readonly TextPart[], unscanned: number) {
  const findings: Record<string, number> = {};
  const masks: Finding[] = [];
  let lasts = false;
  const found = await findingsOfParts(check, parts);
  let bytes = 0;
  for (const [index, part] of parts.entries()) {
    for (const finding of found[index] ?? []) {
      if (finding.isUnread === true) {
        bytes += 1;
        continue;
      }
      findings[finding.kind] = (findings[finding.kind] ?? 0) + 1;
      lasts ||= !canMask(part);
      if (config.action === 'mask') masks.push(finding);
    }
  }
  return {
    verdict: verdictOf(config, Object.keys(findings).length > 0, lasts, unscanned + bytes),
    findings,
    masks,
    bytes,
  };
}

/** A finding of a later guard within what an earlier one masked is masked already. */
function maskedText(text: string, masks: readonly Finding[]): string {
  const book = new MaskBook();
  book.keepWordsOf(text);
  let shown = '';
  let from = 0;
  for (const { kind, start, end } of masks.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (start < from) continue;
    shown += text.slice(from, start) + book.wordFor(kind, text.slice(start, end));
    from = end;
  }
  return shown + text.slice(from);
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
