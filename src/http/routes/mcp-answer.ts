import { sendWhole } from '../../inference/spine/sink.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { McpAnswer } from '../../tools/mcp/mcp-message.ts';
import { type Exchange, headerOf } from '../exchange.ts';

/** Answer to an MCP message: JSON, or a stream of events where notifications come before it. */
export class EventedAnswer {
  /** The client takes a stream. */
  readonly mayStream: boolean;
  readonly #exchange: Exchange;
  readonly #id: JsonObject['id'];
  #state: 'waiting' | 'streaming' | 'ended' = 'waiting';

  constructor(exchange: Exchange, { id }: JsonObject) {
    this.mayStream = headerOf(exchange, 'accept')?.includes('text/event-stream') === true;
    this.#exchange = exchange;
    this.#id = id;
  }

  /** Sends a notification before the answer; a late one is dropped. */
  notify(notification: JsonObject): void {
    if (this.#state === 'ended') return;
    this.#stream();
    this.#exchange.client.chunk(eventOf(JSON.stringify(notification)));
  }

  end({ status, body }: McpAnswer): void {
    const { client } = this.#exchange;
    const isStreaming = this.#state === 'streaming';
    this.#state = 'ended';
    if (!isStreaming) return sendWhole(client, body === '' ? [] : ['content-type', 'application/json'], body, status);
    client.chunk(eventOf(body));
    client.end(null);
  }

  /** Ends without an answer, as MCP wants it where a call was cancelled. */
  endEmpty(): void {
    if (this.mayStream) this.#stream();
    if (this.#state === 'waiting') return this.end({ status: 202, body: '' });
    this.#state = 'ended';
    this.#exchange.client.end(null);
  }

  #stream(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'streaming';
    // An error from now on is an event, too, and answers this message.
    if (typeof this.#id === 'string' || typeof this.#id === 'number') this.#exchange.rpcId = this.#id;
    this.#exchange.client.start('events', []);
  }
}

function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}
