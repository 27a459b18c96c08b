import type { HookOutcome, HookRunner } from '../../hooks/hook-call.ts';
import { type HookName, hooksVersion, onlyLook } from '../../hooks/hook-names.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { createTurns, type Turns } from '../../kernel/sharing/turns.ts';
import { webhookHeaders } from '../../kernel/web/webhook-headers.ts';
import { NoAnswer, wholeAnswer } from '../../upstream/transport/whole-answer.ts';
import type { HookParts } from './hook-parts.ts';

interface WebhookOptions extends Pick<HookParts, 'transport' | 'clock'> {
  name: string;
  url: string;
  secret: string;
  events: readonly HookName[];
  settings: Readonly<Record<string, unknown>>;
  deadlineMs: number;
}

const underWayMax = 64;
const underWayOfOne = 16;
const waitingMax = 1_024;
const replyBytesMax = 8 * 1024 * 1024;

/** A service that gets each call as a signed POST, and replies with JSON; 204 is no reply. */
export class WebhookRunner implements HookRunner {
  readonly functions: ReadonlySet<HookName>;
  readonly #options: WebhookOptions;
  readonly #turns: Turns;
  readonly #at: { origin: string; path: string };

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.functions = new Set(options.events);
    const { origin, pathname, search } = new URL(options.url);
    this.#at = { origin, path: pathname + search };
    const name = `Calls of the hook '${options.name}'`;
    this.#turns = createTurns({ name, places: underWayMax, tenantPlaces: underWayOfOne, waitingMax });
  }

  async load(): Promise<null> {
    return null;
  }

  async call(on: HookName, account: string, data: object): Promise<HookOutcome> {
    const deadline = AbortSignal.timeout(this.#options.deadlineMs);
    try {
      return await this.#turns.run(account, deadline, () => this.#post(on, data, deadline));
    } catch (error) {
      return { ok: false, why: whyOf(error) };
    }
  }

  async #post(on: HookName, data: object, deadline: AbortSignal): Promise<HookOutcome> {
    const { transport, clock, secret, settings, deadlineMs } = this.#options;
    const body = JSON.stringify({ version: hooksVersion, on, settings, ...data });
    const signed = webhookHeaders({ id: `msg_${randomBase62(24)}`, body }, secret, clock.wallMs());
    const headers = Object.entries({ accept: 'application/json', ...signed }).flat();
    const bounds = { connectTimeoutMs: deadlineMs, bytesMax: replyBytesMax, deadline };
    const request = { ...this.#at, method: 'POST' as const, headers, body };
    const { status, bytes } = await wholeAnswer(transport, request, bounds);
    if (status < 200 || status > 299) return { ok: false, why: `it answered with the status ${status}` };
    const isEmpty = bytes.length === 0 || onlyLook.has(on);
    return { ok: true, reply: isEmpty ? null : (JSON.parse(bytes.toString('utf8')) as unknown) };
  }

  retire(ended: () => void): void {
    ended();
  }

  async close(): Promise<void> {}
}

function whyOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'its answer is not JSON';
  if (error instanceof NoAnswer) return `no connection or no whole answer (${error.kind})`;
  return error instanceof DOMException ? 'it gave no reply before its deadline' : 'the request could not be made';
}
