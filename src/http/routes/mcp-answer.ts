import { sendWhole } from '../../inference/spine/sink.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { McpAnswer } from '../../tools/mcp/mcp-message.ts';
import { type Exchange, headerOf } from '../exchange.ts';

/** Answer to an MCP message: JSON, or a stream of events where notifications or a long silence come before it. */
export class EventedAnswer {
  /** The client takes a stream. */
  readonly mayStream: boolean;
  readonly #exchange: Exchange;
  #ended = false;

  constructor(exchange: Exchange, { id }: JsonObject) {
    this.mayStream = headerOf(exchange, 'accept')?.includes('text/event-stream') === true;
    this.#exchange = exchange;
    // An error in a stream is an event, and answers this message.
    if (typeof id === 'string' || typeof id === 'number') exchange.rpcId = id;
  }

  /** Proxies end a connection that is silent for long. */
  waits(): void {
    if (this.mayStream) this.#exchange.client.expect([]);
  }

  /** Sends a notification before the answer; a late one is dropped. */
  notify(notification: JsonObject): void {
    if (this.#ended) return;
    this.#exchange.client.start('events', []);
    this.#exchange.client.chunk(eventOf(JSON.stringify(notification)));
  }

  end({ status, body }: McpAnswer): void {
    const { client } = this.#exchange;
    this.#ended = true;
    if (!client.committed)
      return sendWhole(client, body === '' ? [] : ['content-type', 'application/json'], body, status);
    client.chunk(eventOf(body));
    client.end(null);
  }

  /** Ends without an answer, as MCP wants it where a call was cancelled. */
  endEmpty(): void {
    if (!this.mayStream) return this.end({ status: 202, body: '' });
    this.#ended = true;
    this.#exchange.client.start('events', []);
    this.#exchange.client.end(null);
  }
}

function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}
