import { hash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { KeyWebhookConfig } from '../../../config/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { webhookHeaders } from '../../../kernel/webhook-headers.ts';
import { keyPrefix } from '../key-directory.ts';
import type { TokenCaller } from '../tokens/token-caller.ts';

/** Keys that a process remembers; a forgotten one is asked for again. */
const keysMax = 10_000;
const keyLengthMax = 4_096;
/** Questions at a time: unknown keys belong to nobody yet, so none may keep all places. */
const askingMax = 64;
const askingOfAddressMax = 8;
const answerBytesMax = 64 * 1_024;

/** The caller of a key of another system, as its service answers. */
const answerSchema = z.object({
  account: z.string().min(1).max(64),
  id: z.string().min(1).max(200).optional(),
  name: z.string().min(1).max(80).optional(),
  plan: z.string().min(1).max(64).nullish(),
  models: z.array(z.string().min(1).max(200)).max(1_000).nullish(),
  user: z.string().min(1).max(256).nullish(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

const wrong: Failure = { kind: 'unauthenticated', message: 'The API key is not valid.' };
const away = (why: string): Failure => ({
  kind: 'overloaded',
  message: `The service that knows the API key ${why}. Try again.`,
});

interface Answered {
  caller: TokenCaller | Failure;
  /** Wall-clock ms. */
  untilMs: number;
}

/** Asks a service who the caller of a key is, and remembers its answers. */
export class KeyWebhook {
  readonly #config: KeyWebhookConfig;
  readonly #clock: Pick<Clock, 'wallMs'>;
  /** By the key's hash, oldest first. */
  readonly #answers = new Map<string, Answered>();
  readonly #asking = new Map<string, Promise<TokenCaller | Failure>>();
  readonly #askingOf = new Map<string, number>();

  constructor(config: KeyWebhookConfig, clock: Pick<Clock, 'wallMs'>) {
    this.#config = config;
    this.#clock = clock;
  }

  /** The caller of `key`, or why there is none. `address`: where the request comes from; null: unknown. */
  caller(key: string, address: string | null): Promise<TokenCaller | Failure> | TokenCaller | Failure {
    if (key.length > keyLengthMax || key.startsWith(keyPrefix)) return wrong;
    const digest = hash('sha256', key, 'hex');
    const known = this.#answers.get(digest);
    if (known !== undefined && known.untilMs > this.#clock.wallMs()) return known.caller;
    const asking = this.#asking.get(digest);
    if (asking !== undefined) return asking;
    const of = address ?? '';
    const fromHere = this.#askingOf.get(of) ?? 0;
    if (this.#asking.size >= askingMax || fromHere >= askingOfAddressMax) return away('has too many questions');
    this.#askingOf.set(of, fromHere + 1);
    const pending = this.#ask(key, digest, address).finally(() => {
      this.#asking.delete(digest);
      const left = (this.#askingOf.get(of) ?? 1) - 1;
      if (left > 0) this.#askingOf.set(of, left);
      else this.#askingOf.delete(of);
    });
    this.#asking.set(digest, pending);
    return pending;
  }

  async #ask(key: string, digest: string, address: string | null): Promise<TokenCaller | Failure> {
    const { url, secret, deadline, cache, refusals_cache: refusals } = this.#config;
    const body = JSON.stringify({ type: 'caller.authenticate', data: { key, address } });
    let status: number;
    let text: string;
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: webhookHeaders({ id: `msg_${randomUUID()}`, body }, secret, this.#clock.wallMs()),
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(deadline),
      });
      status = answer.status;
      text = await boundedText(answer);
    } catch {
      return away('does not answer');
    }
    if (status === 401 || status === 403 || status === 404) return this.#keep(digest, wrong, refusals);
    const read = status === 200 ? answerSchema.safeParse(parsed(text)) : null;
    if (read?.success !== true) return away(read === null ? `answered ${status}` : 'gave an answer without an account');
    const { expires_at: end } = read.data;
    const leftMs = end == null ? cache : Date.parse(end) - this.#clock.wallMs();
    if (leftMs <= 0) return this.#keep(digest, wrong, refusals);
    return this.#keep(digest, callerOf(read.data, digest), Math.min(cache, leftMs));
  }

  #keep(digest: string, caller: TokenCaller | Failure, forMs: number): TokenCaller | Failure {
    this.#answers.delete(digest);
    if (this.#answers.size >= keysMax) {
      const [oldest] = this.#answers.keys();
      if (oldest !== undefined) this.#answers.delete(oldest);
    }
    this.#answers.set(digest, { caller, untilMs: this.#clock.wallMs() + forMs });
    return caller;
  }
}

/** A caller keeps its identity with another key where the service names it. */
function callerOf(
  { account, id, name, plan, models, user }: z.output<typeof answerSchema>,
  digest: string,
): TokenCaller {
  const identity = hash('sha256', `webhook\n${id ?? digest}\n${account}`, 'hex').slice(0, 24);
  return {
    keyId: `guest_${identity}`,
    name: name ?? id ?? identity,
    account,
    plan: plan ?? null,
    models: models ?? null,
    source: 'webhook',
    ...(user != null && { user }),
  };
}

async function boundedText(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    bytes += piece.length;
    if (bytes > answerBytesMax) throw new Error('the answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
