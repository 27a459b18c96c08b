import { readFileSync, statSync } from 'node:fs';
import { createPlanBook } from '../../books/metering/plan-book.ts';
import type { CallerDialectId } from '../../formats/dialects/dialect.ts';
import { cleanTag } from '../../formats/neutral/tag.ts';
import type { ConversationEndpoint } from '../../inference/families/chat/endpoint.ts';
import { explainChat, planningWithoutStores } from '../../inference/families/chat/explain-chat.ts';
import { explainEmbeddings } from '../../inference/families/embeddings/explain-embeddings.ts';
import type { ExplainedRequest, ExplainedTarget, Question } from '../../inference/spine/explained.ts';
import { systemClock } from '../../kernel/clock.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { createHealth } from '../../routing/health.ts';
import { defaultPreferences } from '../../routing/route.ts';
import { CommandFailed, unreadable } from '../command-failed.ts';
import { principalOf } from '../key-holder.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { readConfig } from '../read-config.ts';
import { plain, table } from '../table.ts';

export interface ExplainFlags {
  config?: string;
  key?: string;
  /** Where the body would be posted. */
  endpoint: Endpoint;
  /** Headers of the caller, as `name: value`. */
  header?: string[];
  json?: boolean;
}

/**
 * `culvert explain`: what would happen to a body, without sending it. 0 when something would be sent. Breakers
 * and cooldowns are those of a fresh start: a running server's are its own.
 */
export async function explain(source: string, flags: ExplainFlags, parts: CliParts): Promise<number> {
  const { endpoint } = flags;
  const config = readConfig(flags.config);
  const principal = await principalOf(config, flags.key, parts);
  const { snapshot, problems } = await parts.snapshotOf(config);
  for (const problem of problems) note(`warning: ${problem}`);
  const question = {
    snapshot,
    principal,
    raw: readBody(source, config.server.body_limit),
    preferences: defaultPreferences,
    health: createHealth({ clock: systemClock }),
    nowMs: systemClock.monotonicMs(),
    ruled: ruledAs(flags.header ?? []),
  } as const;
  const plans = flags.key === undefined ? [] : (await parts.stored(config)).plans;
  const planning = planningWithoutStores(
    () => createPlanBook({ config, stored: plans }),
    () => snapshot.config,
  );
  const explained =
    endpoint === 'embeddings'
      ? await explainEmbeddings(question)
      : await explainChat(planning, { ...question, endpoint, dialect: dialectOfEndpoint[endpoint] });
  const json = listForm(flags) === 'json';
  if (explained.kind !== 'explained') {
    const { status, type, message, param } = factsOf(explained, systemClock.wallMs());
    if (json) printJson({ sent: false, error: { message, type, code: status, param } });
    else print(plain(`Nothing would be sent: ${status} ${message}`));
    return 1;
  }
  const sent = explained.unmet.length === 0 && explained.candidates.some((candidate) => candidate.sent !== null);
  if (json) printJson(asJson(explained, sent));
  else print(described(explained));
  return sent ? 0 : 1;
}

const dialectOfEndpoint = {
  chat: 'openai-chat',
  messages: 'anthropic-messages',
  responses: 'openai-responses',
} as const satisfies Record<ConversationEndpoint, CallerDialectId>;

type Endpoint = keyof typeof dialectOfEndpoint | 'embeddings';

/** Counters are those of a running server: here nobody knows what is left. */
function ruledAs(headers: readonly string[]): NonNullable<Question['ruled']> {
  const callerHeaders = Object.fromEntries(
    headers.map((header) => {
      const colon = header.indexOf(':');
      if (colon < 1) throw new CommandFailed(`--header: expected name: value, not '${header}'.`, 2);
      return [header.slice(0, colon).trim().toLowerCase(), header.slice(colon + 1).trim()];
    }),
  );
  return { tag: cleanTag(callerHeaders['x-culvert-tag']), callerHeaders, atMs: systemClock.wallMs(), left: null };
}

function readBody(source: string, limitBytes: number): Buffer {
  let body: Buffer;
  try {
    if (source !== '-' && statSync(source).size > limitBytes) throw tooLarge(limitBytes);
    body = readFileSync(source === '-' ? 0 : source);
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    throw unreadable(source, error);
  }
  if (body.length > limitBytes) throw tooLarge(limitBytes);
  return body;
}

function tooLarge(limitBytes: number): CommandFailed {
  return new CommandFailed(`Nothing would be sent: 413 ${factsOf({ kind: 'body-too-large', limitBytes }, 0).message}`);
}

/** Named as the HTTP API names things. */
function asJson(explained: ExplainedRequest, sent: boolean) {
  const { alias, endpoint, stream, cost, candidates, unmet } = explained;
  return {
    sent,
    model: alias,
    endpoint,
    stream,
    cost,
    attempts_max: explained.attemptsMax,
    hedged_when: explained.hedgedWhen,
    input_tokens_estimate: explained.inputTokensEstimate,
    upstream_requests: explained.upstreamRequests,
    candidates,
    barred: explained.barred,
    rules: explained.rules ?? null,
    unmet,
  };
}

function described(explained: ExplainedRequest): string {
  const { alias, cost, stream, inputTokensEstimate, attemptsMax, upstreamRequests, unmet } = explained;
  const lines = [
    plain(
      `Model '${alias}': ${cost} ${cost === 1 ? 'unit' : 'units'}, about ${inputTokensEstimate} input tokens, answered ${stream ? 'as a stream' : 'whole'}, at most ${attemptsMax} attempts.`,
    ),
  ];
  for (const { rule, because } of explained.rules?.passed ?? []) {
    lines.push(plain(`The rule '${rule}' does not apply: ${because} is not true.`));
  }
  const { passedMore } = explained.rules ?? {};
  if (passedMore !== undefined) lines.push(`${passedMore} more rules do not apply.`);
  for (const rule of explained.rules?.applied ?? []) lines.push(plain(`The rule '${rule}' applies.`));
  for (const { target, verdict } of explained.barred) lines.push(plain(`${target}: ${verdict}.`));
  if (upstreamRequests > 1)
    lines.push(`Sent ${upstreamRequests} times, because no target gives several choices in one call.`);
  if (explained.hedgedWhen.length > 0)
    lines.push(`Also sent to another target when the first is ${explained.hedgedWhen.join(' or ')}.`);
  if (unmet.length > 0) lines.push(`Nothing would be sent: no target can do ${unmet.join(', ')}.`);
  const rows = explained.candidates.map((candidate) => [
    candidate.simulated ? `${candidate.target} (simulated)` : candidate.target,
    candidate.rank === 0 ? String(candidate.priority) : `fallback ${candidate.rank}`,
    candidate.verdict,
    sending(candidate),
    candidate.sent?.dropped ?? '',
  ]);
  return [...lines, '', table(['target', 'priority', 'verdict', 'body', 'dropped'], rows)].join('\n');
}

function sending({ sent, why }: ExplainedTarget): string {
  if (sent === null) return `cannot be converted: ${why}`;
  const calls = sent.calls === 1 ? '' : ` in ${sent.calls} calls`;
  return `${sent.answer === 'pass-through' ? 'passed through' : `as ${sent.dialect}`}, ${sent.bytes} B${calls}`;
}
