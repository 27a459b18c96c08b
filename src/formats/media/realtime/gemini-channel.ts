import { isObject, type JsonObject } from '../../../kernel/json.ts';

export interface GeminiChannelParts {
  up(message: JsonObject): void;
  /** The present connection is to be left for another, of which `opened` tells. */
  reopen(): void;
  /** The first message of a connection. */
  setup(): JsonObject;
  /** Whether a session may go on over another connection. Google keeps what was said for that. */
  resumes: boolean;
  /** Whether neither side is in the middle of anything. */
  isAtRest(): boolean;
}

/**
 * The way up to a session at Gemini's Live API, over one connection after another: each lasts for some ten minutes, and takes
 * its settings in the first message alone. The session goes on by the handle that Gemini gave last
 * (https://ai.google.dev/gemini-api/docs/live-session), and may have other settings then.
 */
export class GeminiChannel {
  readonly #parts: GeminiChannelParts;
  /** Messages wait until Gemini has taken the setup. */
  #state: 'unsent' | 'open' | { waiting: JsonObject[] } = 'unsent';
  /** Null: Gemini has given none. */
  #handle: string | null = null;
  /** Nothing is lost by going on from the handle, as it is while Gemini generates. */
  #isWhole = false;
  /** Gemini closes the connection soon, or there are other settings for the next one. */
  #leaves = false;
  /** Characters of sound and text that wait. */
  waitingChars = 0;

  constructor(parts: GeminiChannelParts) {
    this.#parts = parts;
  }

  /** Whether other settings come too late. */
  get isFixed(): boolean {
    return this.#state !== 'unsent' && this.#handle === null;
  }

  send(message: JsonObject): void {
    if (this.#state === 'unsent') {
      this.#state = { waiting: [] };
      this.opened();
    }
    if (this.#state === 'open') return this.#parts.up(message);
    this.#state.waiting.push(message);
    this.waitingChars += JSON.stringify(message).length;
  }

  /** Reads what a message of Gemini's says of the connection. */
  take({ setupComplete, sessionResumptionUpdate: update, goAway }: JsonObject): void {
    if (setupComplete !== undefined && typeof this.#state === 'object') {
      const { waiting } = this.#state;
      this.#state = 'open';
      this.waitingChars = 0;
      for (const one of waiting) this.#parts.up(one);
    }
    if (isObject(update)) {
      this.#isWhole = update.resumable === true;
      if (typeof update.newHandle === 'string' && update.newHandle !== '') this.#handle = update.newHandle;
    }
    if (goAway !== undefined) this.#leaves = true;
    if (isObject(update) || goAway !== undefined) this.leaveAtRest();
  }

  /** There are other settings. */
  renew(): void {
    if (this.#state === 'unsent') return;
    this.#leaves = true;
    this.leaveAtRest();
  }

  /** To be called whenever a turn has ended. */
  leaveAtRest(): void {
    if (this.#leaves && this.#state === 'open' && this.#isWhole && this.#parts.isAtRest()) this.#leave();
  }

  /** The connection broke. False: the session cannot go on. */
  broken(): boolean {
    if (this.#state !== 'open' || this.#handle === null) return false;
    this.#leave();
    return true;
  }

  /** There is a connection that has heard nothing yet. */
  opened(): void {
    this.#leaves = false;
    this.#isWhole = false;
    const setup = this.#parts.setup();
    if (!this.#parts.resumes) return this.#parts.up({ setup });
    const sessionResumption = this.#handle === null ? {} : { handle: this.#handle };
    // Without it a session ends when its context is full, in spite of all connections.
    this.#parts.up({ setup: { ...setup, sessionResumption, contextWindowCompression: { slidingWindow: {} } } });
  }

  #leave(): void {
    this.#state = { waiting: [] };
    this.#parts.reopen();
  }
}
