import { hash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { KeyWebhookConfig } from '../../../config/schema/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { parsedJson } from '../../../kernel/json.ts';
import { clientNetwork } from '../../../kernel/network.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import { boundedText } from '../../../kernel/web/bounded-text.ts';
import { webhookHeaders } from '../../../kernel/web/webhook-headers.ts';
import { invalidKey, keyPrefix } from '../key-directory.ts';
import type { TokenCaller } from '../tokens/token-caller.ts';

/** Keys that a process remembers, and as many wrong ones; a forgotten one is asked for again. */
const keysMax = 10_000;
const keyLengthMax = 4_096;
/** Questions at a time: unknown keys belong to nobody yet, so none may keep all places. */
const askingMax = 64;
const askingOfNetworkMax = 8;
/** Wrong keys of one network within a window. Above it, only keys that were right before are asked for again. */
const wrongKeysMax = 100;
const wrongKeysWindowMs = 60_000;
/** Networks with wrong keys that are remembered; the oldest one is forgotten. */
const networksMax = 10_000;
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

const away = (why: string): Failure => ({
  kind: 'overloaded',
  message: `The service that knows the API key ${why}. Try again.`,
});

interface Answered<T> {
  caller: T;
  /** Wall-clock ms. */
  untilMs: number;
}

interface WrongKeys {
  count: number;
  /** Wall-clock ms. */
  endsMs: number;
}

/** Asks a service who the caller of a key is, and remembers its answers. */
export class KeyWebhook {
  readonly #config: KeyWebhookConfig;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #keysMax: number;
  /** By hash of key and network, of which it decides, oldest first. A flood of wrong keys, apart, drops no right one. */
  readonly #callers = new Map<string, Answered<TokenCaller>>();
  readonly #refusals = new Map<string, Answered<Failure>>();
  readonly #asking = new Map<string, Promise<TokenCaller | Failure>>();
  readonly #askingOf = new Map<string, number>();
  /** By network. */
  readonly #wrongKeysOf = new Map<string, WrongKeys>();

  constructor(config: KeyWebhookConfig, clock: Pick<Clock, 'wallMs'>, bounds = { keysMax }) {
    this.#config = config;
    this.#clock = clock;
    this.#keysMax = bounds.keysMax;
  }

  /** The caller of `key`, or why there is none. `address`: where the request comes from; null: unknown. */
  caller(key: string, address: string | null): Promise<TokenCaller | Failure> | TokenCaller | Failure {
    if (key.length > keyLengthMax || key.startsWith(keyPrefix)) return invalidKey;
    const network = clientNetwork(address);
    const digest = hash('sha256', `${network}\n${key}`, 'hex');
    const known = this.#callers.get(digest) ?? this.#refusals.get(digest);
    if (known !== undefined && known.untilMs > this.#clock.wallMs()) return known.caller;
    const asking = this.#asking.get(digest);
    if (asking !== undefined) return asking;
    const closed = this.#callers.has(digest) ? null : this.#closed(network);
    if (closed !== null) return closed;
    const fromHere = this.#askingOf.get(network) ?? 0;
    if (this.#asking.size >= askingMax || fromHere >= askingOfNetworkMax) return away('has too many questions');
    this.#askingOf.set(network, fromHere + 1);
    const pending = this.#ask(key, digest, address).finally(() => {
      this.#asking.delete(digest);
      const left = (this.#askingOf.get(network) ?? 1) - 1;
      if (left > 0) this.#askingOf.set(network, left);
      else this.#askingOf.delete(network);
    });
    this.#asking.set(digest, pending);
    return pending;
  }

  /** Why no unknown key of a network is asked for now; null: it may be. */
  #closed(network: string): Failure | null {
    const { count, endsMs } = this.#wrongKeys(network);
    if (count < wrongKeysMax) return null;
    const leftS = Math.ceil((endsMs - this.#clock.wallMs()) / 1_000);
    return {
      kind: 'quota-exceeded',
      limit: 'logins',
      window: null,
      used: count,
      allowed: wrongKeysMax,
      freeAtMs: endsMs,
      message: `Too many wrong API keys came from this network. Try again in ${leftS} s.`,
    };
  }

  #wrongKeys(network: string): WrongKeys {
    const nowMs = this.#clock.wallMs();
    const known = this.#wrongKeysOf.get(network);
    const endsMs = nowMs + wrongKeysWindowMs;
    // A clock that was set back must not close a network for longer.
    return known !== undefined && known.endsMs > nowMs && known.endsMs <= endsMs ? known : { count: 0, endsMs };
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
      text = await boundedText(answer, answerBytesMax);
    } catch {
      return away('does not answer');
    }
    if (status === 401 || status === 403 || status === 404) {
      const wrongKeys = this.#wrongKeys(clientNetwork(address));
      wrongKeys.count += 1;
      putNewest(this.#wrongKeysOf, clientNetwork(address), wrongKeys, networksMax);
      return this.#refused(digest, refusals);
    }
    const read = status === 200 ? answerSchema.safeParse(parsedJson(text)) : null;
    if (read?.success !== true) return away(read === null ? `answered ${status}` : 'gave an answer without an account');
    const { expires_at: end } = read.data;
    const leftMs = end == null ? cache : Date.parse(end) - this.#clock.wallMs();
    if (leftMs <= 0) return this.#refused(digest, refusals);
    const caller = callerOf(read.data, hash('sha256', key, 'hex'));
    const untilMs = this.#clock.wallMs() + Math.min(cache, leftMs);
    putNewest(this.#callers, digest, { caller, untilMs }, this.#keysMax);
    return caller;
  }

  #refused(digest: string, forMs: number): Failure {
    this.#callers.delete(digest);
    putNewest(this.#refusals, digest, { caller: invalidKey, untilMs: this.#clock.wallMs() + forMs }, this.#keysMax);
    return invalidKey;
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
