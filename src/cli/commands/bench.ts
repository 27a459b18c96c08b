import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { parseDurationMs } from '../../config/scalars.ts';
import { createTally, type Results, type Spread } from '../bench/answer-tally.ts';
import { askOnce, type Order } from '../bench/ask-once.ts';
import { CommandFailed } from '../command-failed.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { createProgress, whileWaiting } from '../progress.ts';
import { serverAndKey } from '../running-server.ts';
import { plain, table } from '../table.ts';
import { firstChatModel } from './models.ts';

export interface BenchFlags {
  key?: string;
  model?: string;
  concurrency: number;
  requests?: number;
  duration?: string;
  stream?: boolean;
  maxTokens: number;
  prompt: string;
  json?: boolean;
  quiet?: boolean;
}

const requestsDefault = 1_000;
const requestsMax = 1_000_000;
const interruptedCode = 130;

/** `culvert bench`: chat requests to a server, as many at a time as wanted, bounded by number or time. */
export async function bench(server: string, flags: BenchFlags): Promise<number> {
  if (flags.requests !== undefined && flags.duration !== undefined)
    throw new CommandFailed('Give --requests or --duration, not both.', 2);
  const forMs = flags.duration === undefined ? null : checkedDurationMs(flags.duration);
  const { url, key } = serverAndKey({ url: server, key: flags.key });
  const model = flags.model ?? (await firstChatModel(url, key));
  const left = new AbortController();
  const interrupt = () => left.abort();
  process.once('SIGINT', interrupt);
  const agent = new (url.startsWith('https:') ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    maxSockets: flags.concurrency,
  });
  try {
    const order: Order = {
      url: new URL(`${url}/v1/chat/completions`),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: flags.prompt }],
        max_tokens: flags.maxTokens,
        stream: flags.stream === true,
      }),
      form: flags.stream ? 'stream' : 'whole',
      agent,
      signal: left.signal,
    };
    note(
      plain(
        `Each request asks ${model} at ${url} for at most ${flags.maxTokens} tokens, and costs what such a request costs there.`,
      ),
    );
    const results = await load(order, flags, forMs);
    if (listForm(flags) === 'json') printJson(asJson(results, model, flags));
    else print(described(results));
    if (left.signal.aborted) return interruptedCode;
    return results.ms === null ? 1 : 0;
  } catch (error) {
    if (left.signal.aborted) return interruptedCode;
    throw error;
  } finally {
    process.removeListener('SIGINT', interrupt);
    agent.destroy();
  }
}

const benchMaxMs = 3_600_000;

function checkedDurationMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 1 && ms <= benchMaxMs) return ms;
  throw new CommandFailed('--duration: expected a time such as 30s, at most 1h', 2);
}

/** `forMs` null: as many as wanted, however long that takes. */
async function load(order: Order, flags: BenchFlags, forMs: number | null): Promise<Results> {
  // Alone, and not counted: it opens the way, and tells what a mistake would cost a thousand times.
  const first = await whileWaiting(flags, 'waiting for the first answer', askOnce(order));
  if (!first.ok)
    throw new CommandFailed(plain(`The first request failed: ${first.outcome} ${first.message ?? ''}`.trim()));
  const requestsLimit = forMs === null ? (flags.requests ?? requestsDefault) : requestsMax;
  const expected = Math.ceil(((forMs ?? 0) / first.ms) * flags.concurrency);
  note(
    forMs === null
      ? `${requestsLimit.toLocaleString('en')} requests follow, ${flags.concurrency} at a time.`
      : `About ${expected.toLocaleString('en')} requests follow within ${forMs / 1_000} s, ${flags.concurrency} at a time, and never more than ${requestsMax.toLocaleString('en')}.`,
  );
  const tally = createTally();
  const progress = createProgress(flags, 'waits');
  const startedMs = performance.now();
  const endsMs = forMs === null ? Number.POSITIVE_INFINITY : startedMs + forMs;
  let begun = 0;
  const caller = async () => {
    while (begun < requestsLimit && performance.now() < endsMs && !order.signal.aborted) {
      progress.count(++begun, 'requests');
      const answered = await askOnce(order);
      if (answered.outcome !== 'interrupted') tally.add(answered);
    }
  };
  await Promise.all(Array.from({ length: flags.concurrency }, caller));
  progress.end();
  return tally.results(performance.now() - startedMs);
}

function asJson(results: Results, model: string, { concurrency, stream = false }: BenchFlags) {
  const { requestsPerSecond: requests_per_second, firstTokenMs: first_token_ms, ...others } = results;
  return { model, concurrency, stream, ...others, requests_per_second, first_token_ms };
}

function described({ requests, failed, seconds, requestsPerSecond, ms, firstTokenMs, outcomes }: Results): string {
  const row = (name: string, spread: Spread | null) =>
    spread === null ? [] : [[name, ...[spread.p50, spread.p95, spread.p99, spread.max].map(String)]];
  const times = [...row('whole answer', ms), ...row('first token', firstTokenMs)];
  const parts = [
    `${requests.toLocaleString('en')} requests in ${seconds} s, ${failed} failed: ${requestsPerSecond} answers a second`,
    ...(times.length === 0 ? [] : [table(['ms', 'p50', 'p95', 'p99', 'max'], times)]),
    table(
      ['outcome', 'requests', ''],
      outcomes.map(({ outcome, count, message }) => [outcome, String(count), message ?? '']),
    ),
  ];
  return parts.join('\n\n');
}
