import { setTimeout as pause } from 'node:timers/promises';
import { culvert } from '../../kernel/command-form.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody } from '../command-table.ts';
import { pastInstant } from '../instant-option.ts';
import { adminOptions, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { listRows, type Row, rowTable } from '../rows.ts';
import { causeOf, errorIn, reach, serverAndKey } from '../running-server.ts';

export const replay: CommandBody = {
  options: [
    ['--to <model>', 'model to ask', { needed: true }],
    ['--from <date>', 'requests since a date or time, or how long ago', { default: '7d' }],
    ['--model <model>', 'only requests of this model'],
    ['--limit <requests>', 'how many', { read: whole(1, 10_000), default: 100 }],
    ...adminOptions,
  ],
  example: 'culvert replay --from 7d --to fast --model smart --limit 50',
  work: () => replayRequests,
};

interface ReplayFlags extends AdminFlags {
  to: string;
  from: string;
  model?: string;
  limit: number;
}

/** Conversations alone: their answers can be compared. */
const paths: Readonly<Record<string, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
const atOnce = 4;
/** So many requests are looked at for each one that has its body. */
const examinedPerStored = 20;
const settledTries = 40;
const settledPauseMs = 50;

/** Result of an answer. */
interface Came {
  usd: number | null;
  ms: number;
  output_tokens: number;
  finish: string | null;
  tools: readonly string[];
}

interface Replayed {
  id: string;
  was: Came;
  /** Null: it failed. */
  now: Came | null;
  /** Id of the new request. */
  replay: string | null;
  losses: readonly string[];
  error: string | null;
}

interface StoredRequest {
  row: Row;
  body: Record<string, unknown>;
  answer: string;
}

/** `culvert replay`: asks kept requests again at another model, at the cost of the operator's key. */
async function replayRequests(flags: ReplayFlags, parts: CliParts): Promise<number> {
  const { url, key } = serverAndKey(flags);
  return withAdmin(flags, parts, async (admin, progress) => {
    const { stored, examined } = await storedRequests(admin, flags);
    if (stored.length === 0) throw new CommandFailed(whyNone(examined));
    const replayed: Replayed[] = [];
    for (let at = 0; at < stored.length; at += atOnce) {
      replayed.push(...(await Promise.all(stored.slice(at, at + atOnce).map((one) => again(url, key, flags.to, one)))));
      progress.count(replayed.length, 'requests replayed');
    }
    progress.end();
    const totals = totalsOf(replayed, examined - stored.length);
    if (listForm(flags) === 'json') printJson({ object: 'replay', to: flags.to, totals, data: replayed });
    else print(`${replayTable(replayed)}\n\n${rowTable([totals.was, totals.now], totalColumns)}`);
    if (totals.skipped > 0 && listForm(flags) === 'table') {
      note(
        `${totals.skipped} requests were left out, because the server that answered does not have their whole body. Each replica keeps its own.`,
      );
    }
    return 0;
  });
}

function whyNone(examined: number): string {
  if (examined === 0) return 'There is no conversation in this time that could be replayed.';
  return [
    `None of the ${examined} conversations in this time has its whole body in the server that answers.`,
    `Keep those of a model or a key (${culvert} bodies keep), or name keys in telemetry.log.bodies, and replay their next requests.`,
    'Bodies of telemetry.log.bodies are in the memory of the replica that served them: name each with --url.',
  ].join(' ');
}

/** Requests whose bodies are whole, newest first, and how many were looked at. */
async function storedRequests(
  admin: AdminClient,
  flags: ReplayFlags,
): Promise<{ stored: StoredRequest[]; examined: number }> {
  const { model, from, limit } = flags;
  const query = { model, class: 'ok', since: pastInstant('--from', from, Date.now()) };
  const { rows } = await listRows(admin, '/requests', query, limit * examinedPerStored);
  const conversations = rows.filter(({ endpoint }) => Object.hasOwn(paths, String(endpoint)));
  const stored: StoredRequest[] = [];
  let examined = 0;
  for (const row of conversations) {
    if (stored.length === limit) break;
    examined += 1;
    const { bodies } = (await admin.request('GET', `/requests/${String(row.id)}`)) as {
      bodies: { request: string; answer: string } | null;
    };
    const body = bodies === null ? null : wholeBody(bodies.request);
    if (bodies !== null && body !== null) stored.push({ row, body, answer: bodies.answer });
  }
  return { stored, examined };
}

/** Null: it was cut, withheld, had a credential in it, or its model was a prompt, so that the same cannot be asked again. */
function wholeBody(text: string): Record<string, unknown> | null {
  if (text.includes('[redacted]')) return null;
  try {
    const body = JSON.parse(text) as Record<string, unknown> | null;
    return typeof body?.model === 'string' && !body.model.startsWith('prompt/') ? body : null;
  } catch {
    return null;
  }
}

/** Members that would give another answer than the whole one of the model that is asked. */
const leftOut: ReadonlySet<string> = new Set(['stream', 'stream_options', 'models', 'fallbacks', 'background']);

/** Never rejects: what came of the others is shown all the same. */
async function again(url: string, key: string, model: string, stored: StoredRequest): Promise<Replayed> {
  try {
    return await replayOne(url, key, model, stored);
  } catch (error) {
    const { row, answer } = stored;
    const message = error instanceof CommandFailed ? error.message : `its answer broke off (${causeOf(error)})`;
    return { id: String(row.id), was: cameOf(row, answer), now: null, replay: null, losses: [], error: message };
  }
}

async function replayOne(
  url: string,
  key: string,
  model: string,
  { row, body, answer }: StoredRequest,
): Promise<Replayed> {
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !leftOut.has(name)));
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-culvert-tag': 'replay',
    'x-culvert-cache': 'off',
  };
  const replayed = { ...rest, model, ...(row.endpoint === 'responses' && { store: false }) };
  const path = paths[String(row.endpoint)] ?? '';
  const response = await reach(url, path, { method: 'POST', headers, body: JSON.stringify(replayed) });
  const text = await response.text();
  const facts = { id: String(row.id), was: cameOf(row, answer), replay: response.headers.get('x-culvert-request-id') };
  if (!response.ok) {
    const error = `${response.status}: ${errorIn(text)?.message ?? response.statusText}`;
    return { ...facts, now: null, losses: [], error };
  }
  const record = await settled(url, headers, facts.replay ?? '');
  if (record === null) return { ...facts, now: null, losses: [], error: 'its record was not found' };
  const { losses = [] } = (record.route ?? {}) as { losses?: readonly { field: string }[] };
  return { ...facts, now: cameOf(record, text), losses: losses.map(({ field }) => field), error: null };
}

/** The record is written when the answer has ended. */
async function settled(url: string, headers: Record<string, string>, id: string): Promise<Row | null> {
  for (let tries = 0; tries < settledTries; tries += 1) {
    const response = await reach(url, `/v1/requests/${id}`, { headers });
    const record = (await response.json()) as Row;
    if (response.ok) return record;
    await pause(settledPauseMs);
  }
  return null;
}

function cameOf(record: Row, answer: string): Came {
  const { output_tokens: tokens } = (record.usage ?? {}) as Row;
  return {
    usd: typeof record.cost_usd === 'number' ? record.cost_usd : null,
    ms: Number(record.ms),
    output_tokens: Number(tokens ?? 0),
    ...outcomeIn(answer),
  };
}

const finishes: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  completed: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  incomplete: 'length',
  refusal: 'content_filter',
};

/**
 * How an answer ended and which tools it calls, of any of the three formats, whole or as a stream. Quotes within a text of
 * the answer are escaped, so that no text is taken for a member.
 */
export function outcomeIn(answer: string): { finish: string | null; tools: string[] } {
  const ends = [...answer.matchAll(/"(?:finish_reason|stop_reason|status)":\s*"(\w+)"/g)].map(([, end = '']) => end);
  const end = ends.findLast((each) => each !== 'in_progress') ?? null;
  const calls = answer.matchAll(
    /"function":\s*\{\s*"name":\s*"([^"]+)"|"type":\s*"(?:tool_use|function_call)"[^{}]*?"name":\s*"([^"]+)"/g,
  );
  const tools = [...new Set([...calls].map(([, ofChat, other]) => ofChat ?? other ?? ''))].toSorted();
  const finish = end === null ? null : (finishes[end] ?? end);
  return { finish: finish === 'stop' && tools.length > 0 ? 'tool_calls' : finish, tools };
}

function totalsOf(all: readonly Replayed[], skipped: number) {
  const done = all.filter(({ now }) => now !== null);
  const sums = (side: 'was' | 'now') => {
    const came = done.flatMap((one) => one[side] ?? []);
    const mean = (of: (one: Came) => number) => came.reduce((sum, one) => sum + of(one), 0) / Math.max(1, came.length);
    return {
      answers: side,
      usd: came.reduce((sum, { usd }) => sum + (usd ?? 0), 0),
      mean_ms: Math.round(mean(({ ms }) => ms)),
      mean_output_tokens: Math.round(mean((one) => one.output_tokens)),
    };
  };
  return {
    requests: all.length,
    failed: all.length - done.length,
    skipped,
    finish_differs: done.filter(({ was, now }) => was.finish !== now?.finish).length,
    tools_differ: done.filter(({ was, now }) => was.tools.join() !== now?.tools.join()).length,
    with_losses: done.filter(({ losses }) => losses.length > 0).length,
    was: sums('was'),
    now: sums('now'),
  };
}

const totalColumns = [
  ['all answered', (row: Row) => row.answers],
  ['USD', (row: Row) => Number(Number(row.usd).toPrecision(4))],
  ['mean ms', (row: Row) => row.mean_ms],
  ['mean output tokens', (row: Row) => row.mean_output_tokens],
] as const;

/** Value before, and behind the arrow the one that it would be. */
function replayTable(replayed: readonly Replayed[]): string {
  const change = (was: unknown, now: unknown) => (was === now ? was : `${was ?? '-'} → ${now ?? '-'}`);
  const of = ({ one }: Row) => one as Replayed;
  const rows = replayed.map((one) => ({ one }));
  return rowTable(rows, [
    ['request', (row) => of(row).id],
    ['USD', (row) => change(of(row).was.usd, of(row).now?.usd)],
    ['ms', (row) => change(of(row).was.ms, of(row).now?.ms)],
    ['output tokens', (row) => change(of(row).was.output_tokens, of(row).now?.output_tokens)],
    ['finish', (row) => change(of(row).was.finish, of(row).now?.finish)],
    ['tools', (row) => change(of(row).was.tools.join(' '), of(row).now?.tools.join(' '))],
    ['left out', (row) => of(row).losses.join(' ')],
    ['error', (row) => of(row).error],
  ]);
}
