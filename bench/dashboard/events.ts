import { blankEvent } from '../../src/books/ledger/columns.ts';
import type { UsageAttempt, UsageEvent } from '../../src/books/metering/ledger.ts';
import { newRequestId } from '../../src/kernel/ids.ts';
import { seededRandom } from '../../src/kernel/random.ts';

export const hourMs = 3_600_000;
export const days = 90;

export const accounts = Array.from({ length: 50 }, (_, at) => `team-${at}`);
/** With these there are a thousand, of which a statement tells; a hundredth of the requests is theirs. */
const small = Array.from({ length: 950 }, (_, at) => `small-${at}`);
const models = ['smart', 'small', 'vision', 'coder', 'embed', 'voice', 'rerank', 'draft'];
const providers = ['openai', 'anthropic', 'google', 'local'];
const endpoints = ['chat', 'messages', 'embeddings'];
const tags = ['', 'nightly', 'search', 'support', 'eval'];

/** One request as traffic has it: few accounts ask most, a key has its models, one in fifty fails. */
export function createTraffic(seed: number): (atMs: number) => UsageEvent {
  const { next: random } = seededRandom(seed);
  const below = (count: number) => Math.floor(random() * count);
  // Low numbers come often.
  const skewed = (count: number) => Math.min(count - 1, Math.floor(count * random() ** 3));
  return (atMs) => {
    const whose = skewed(accounts.length);
    const isSmall = random() < 0.01;
    const account = isSmall ? small[below(small.length)]! : accounts[whose]!;
    const keyId = isSmall ? account : `key${whose}x${below(3)}`;
    const alias = models[(whose + skewed(4)) % models.length]!;
    const provider = providers[(models.indexOf(alias) + (random() < 0.1 ? 1 : 0)) % providers.length]!;
    const isOk = random() > 0.02;
    const inputTokens = 200 + below(4_000);
    const outputTokens = below(1_200);
    const firstTokenMs = 80 + Math.floor(400 * random() ** 2);
    const ms = firstTokenMs + outputTokens * 8;
    const tag = tags[skewed(tags.length)]!;
    return {
      ...blankEvent,
      requestId: newRequestId(atMs),
      atMs,
      account,
      keyId,
      tenant: `${account}/${keyId}`,
      endpoint: endpoints[whose % endpoints.length]!,
      alias,
      target: `${provider}/${alias}-1`,
      status: isOk ? 200 : 502,
      class: isOk ? 'ok' : 'upstreams-failed',
      stream: random() < 0.7,
      route: {
        alias,
        verdicts: [],
        attempts: attemptsOf(provider, alias, { isOk, ms, firstTokenMs }),
        losses: [],
        passThrough: true,
      },
      ms,
      firstTokenMs: isOk ? firstTokenMs : null,
      inputTokens,
      outputTokens,
      usageSource: 'upstream',
      costMilli: 1_000,
      costUsd: (inputTokens * 2 + outputTokens * 10) / 1e6,
      user: random() < 0.4 ? `user-${whose}-${below(8)}` : null,
      tag: tag === '' ? null : tag,
      quotaMs: atMs,
      settledMs: atMs + ms,
    };
  };
}

interface Ended {
  isOk: boolean;
  ms: number;
  firstTokenMs: number;
}

/** One in fifty failed at its only target. */
function attemptsOf(provider: string, alias: string, { isOk, ms, firstTokenMs }: Ended): UsageAttempt[] {
  return [
    {
      target: `${provider}/${alias}-1`,
      provider,
      model: `${alias}-1`,
      credential: `${provider}#0`,
      class: isOk ? 'ok' : 'transient',
      status: isOk ? 200 : 503,
      startMs: 1,
      ms,
      firstTokenMs: isOk ? firstTokenMs : null,
      bytes: 1_000,
      usage: null,
      usageSource: 'upstream',
      costUsd: null,
      message: null,
    },
  ];
}
