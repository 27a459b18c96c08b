import type { AgentConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import type { ConfiguredService } from '../mcp/followed.ts';
import { McpFault } from '../mcp/mcp-fault.ts';
import { firstAgainMs, Looks, type Standing } from '../mcp/service-health.ts';
import { type AgentCard, type AgentInterface, cardUrlOf, readAgentCard, shownCard } from './agent-card.ts';
import {
  AgentError,
  type AgentReply,
  type AgentStream,
  type AgentStreamObserver,
  askStream,
  askWhole,
  readJson,
  replyIn,
} from './agent-http.ts';
import type { A2aVersion } from './methods.ts';

export interface AgentParts {
  name: string;
  config: AgentConfig;
  transport: Transport;
  clock: Clock;
  onTurn(standing: Standing): void;
}

export interface AgentMessage {
  id: string;
  version: A2aVersion;
  to: AgentInterface;
  method: string;
  params: JsonObject;
  /** The caller's headers that go along: flat name, value… */
  headers: readonly string[];
}

/** An agent's whole answer, and the extensions that it says it has applied. */
export type AgentAnswer = (AgentReply & { extensions: readonly string[] }) | AgentError | McpFault;

const cardBytesMax = 1024 * 1024;
const cardTimeoutMs = 15_000;
/** Shorter words of a header may be words of any text. */
const secretCharsMin = 8;

/** One agent of the configuration. Reading its card is the health check. */
export class Agent implements ConfiguredService<AgentConfig> {
  readonly name: string;
  readonly config: AgentConfig;
  /** The card of the last look that went well. */
  card: AgentCard | null = null;
  /** Credentials of the configuration. */
  readonly secrets: readonly string[];
  readonly #parts: AgentParts;
  readonly #looks: Looks;

  constructor(parts: AgentParts) {
    this.name = parts.name;
    this.config = parts.config;
    this.#parts = parts;
    const words = Object.values(parts.config.headers).flatMap((value) => [value, ...value.split(/\s+/)]);
    this.secrets = words.filter((word) => word.length >= secretCharsMin);
    this.#looks = new Looks({ ...parts, ask: () => this.#askCard() });
  }

  get standing(): Standing {
    return this.#looks.standing;
  }

  /** Its card for callers, who reach it at `address`; null: it was not read yet. */
  cardFor(address: string, version: A2aVersion | null): JsonObject | null {
    const { card, name, config, secrets } = this;
    return card === null ? null : shownCard(card, { name, config, secrets, address, version });
  }

  look(): Promise<void> {
    return this.#looks.look();
  }

  lookAnew(): Promise<void> {
    return this.#looks.lookAnew();
  }

  /** Why it is not asked now; null: it is. */
  resting(): McpFault | null {
    return this.#looks.resting();
  }

  /** Why it has no card. */
  unread(): McpFault {
    const { standing } = this;
    if (standing.at !== 'down') return new McpFault('broken', 'has a card that could not be read yet');
    // Down and not at rest: its card is being read again right now.
    return this.resting() ?? new McpFault('resting', `is down (${standing.why.message})`, firstAgainMs);
  }

  async ask(message: AgentMessage, signal: AbortSignal): Promise<AgentAnswer> {
    const answer = await askWhole(
      this.#parts.transport,
      this.#request(message, 'application/json'),
      this.#bounds(signal),
    );
    if (answer instanceof McpFault) return this.#seen(answer);
    const reply = replyIn(answer, this.secrets);
    if (reply instanceof McpFault) return this.#seen(reply);
    return reply instanceof AgentError ? reply : { ...reply, extensions: extensionsOf(answer.headers) };
  }

  stream(message: AgentMessage, signal: AbortSignal, observer: AgentStreamObserver): AgentStream {
    const { transport } = this.#parts;
    return askStream(transport, this.#request(message, 'text/event-stream'), this.#bounds(signal), {
      ...observer,
      ended: (fault) => observer.ended(fault instanceof McpFault ? this.#seen(fault) : fault),
    });
  }

  async close(): Promise<void> {
    this.#looks.stop();
  }

  #bounds(signal: AbortSignal) {
    const { timeout: timeoutMs, max_bytes: bytesMax } = this.config;
    return { timeoutMs, bytesMax, signal, secrets: this.secrets };
  }

  /** Our own look decides whether it is down. */
  #seen(fault: McpFault): McpFault {
    if (fault.reason === 'unreachable' || fault.reason === 'unauthorized') void this.look();
    return fault;
  }

  #headers(): string[] {
    return Object.entries(this.config.headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
  }

  #request({ id, version, to, method, params, headers }: AgentMessage, accept: string) {
    const named = to.tenant === null ? params : { tenant: to.tenant, ...params };
    const kinds = [
      'content-type',
      'application/json',
      'accept',
      accept,
      'user-agent',
      'culvert',
      'a2a-version',
      version,
    ];
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: named });
    return { url: to.url, method: 'POST' as const, headers: [...kinds, ...headers, ...this.#headers()], body };
  }

  async #askCard(): Promise<McpFault | null> {
    const url = cardUrlOf(this.config);
    const headers = ['accept', 'application/json', 'user-agent', 'culvert', 'a2a-version', '1.0', ...this.#headers()];
    const bounds = { timeoutMs: cardTimeoutMs, bytesMax: cardBytesMax, secrets: this.secrets };
    const answer = await askWhole(this.#parts.transport, { url, method: 'GET', headers, body: null }, bounds);
    if (answer instanceof McpFault) return answer;
    if (answer.status !== 200)
      return new McpFault('broken', `answered ${answer.status} when it was asked for its card`);
    const json = readJson(answer.bytes, this.secrets);
    if (json instanceof McpFault) return json;
    const card = readAgentCard(json, this.config);
    if (typeof card === 'string') return new McpFault('broken', card);
    this.card = card;
    return null;
  }
}

const extensionHeaders = ['a2a-extensions', 'x-a2a-extensions'];

/** Headers of extensions, with values that another header can hold. */
export function extensionsOf(headers: { get(name: string): string | undefined }): string[] {
  return extensionHeaders.flatMap((name) => {
    const value = headers.get(name);
    return value !== undefined && /^[\x20-\x7e]{1,4096}$/.test(value) ? [name, value] : [];
  });
}
