import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import type { Failed } from '../spine/sink.ts';
import { withoutId } from './packed-entry.ts';

/** Bytes of an answer that others may take while it comes: its events, roughly. */
const liveBytesMax = 16 * 1024 * 1024;
/** Bytes of an event without its text, roughly. */
const eventBytes = 64;

/** Bytes of an event in memory, roughly. */
export function sizeOf(event: NeutralEvent): number {
  if ('text' in event) return eventBytes + event.text.length;
  return eventBytes + ('argumentsJson' in event ? event.argumentsJson.length : 0);
}

const tooLong: Failed = {
  failure: { kind: 'overloaded', message: 'The answer is too long to be shared. Send x-culvert-cache: off.' },
  headers: [],
};

/** A stream that has begun, for requests that join it: each reads at its pace, and the stream waits for none. */
export class LiveAnswer {
  /** Provider and model that answer. */
  readonly provider: string;
  readonly model: string;
  /** Parts of the request that the target could not take, in words of `endpoint`'s format. */
  readonly losses: readonly Loss[];
  readonly endpoint: string;
  /** Events that have come so far, from the first event. */
  readonly events: NeutralEvent[] = [];
  /** How it ended, null for well; undefined: more may come. */
  ended: Failed | null | undefined;
  /** False once it turns out that it is not kept. */
  takesMore = true;
  /** Cost, once it is kept. */
  usd: number | null = null;
  #bytes = 0;
  #more = Promise.withResolvers<void>();

  constructor({ provider, model, losses, endpoint }: Pick<LiveAnswer, 'provider' | 'model' | 'losses' | 'endpoint'>) {
    this.provider = provider;
    this.model = model;
    this.losses = losses;
    this.endpoint = endpoint;
  }

  add(events: readonly NeutralEvent[]): void {
    if (this.ended !== undefined) return;
    for (const event of events) {
      this.#bytes += sizeOf(event);
      this.events.push(withoutId(event));
    }
    if (this.#bytes > liveBytesMax) this.end(tooLong);
    else this.#wake();
  }

  /** Only the first call counts. */
  end(how: Failed | null): void {
    if (this.ended !== undefined) return;
    this.ended = how;
    this.#wake();
  }

  /** Resolves once more has come, or it has ended. */
  changed(): Promise<void> {
    return this.#more.promise;
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}
