import type { RequestState } from '../../../formats/dialects/dialect.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { AddableInput } from '../../spine/prompted.ts';
import type { ReadableInput } from '../../spine/readable-input.ts';
import { type ContinuedFacts, continuedBy, expanded } from './expand.ts';
import { inputItems } from './input-items.ts';
import type { ResponsesServices } from './services.ts';
import { compactionMark, withSummaries } from './summaries.ts';

/** The turns that a body continued before a step changed it. */
export interface Continued extends Pick<RequestState, 'previous' | 'conversation'> {
  /** Items at the end of its input that its caller sent; those before them were kept. */
  newItems: number;
  /** Id with which the conversation began; null: it begins here. */
  begun: string | null;
}

interface FoundTurns {
  whole: Buffer;
  /** Null: a changed body is read as if its caller had sent it. */
  continued: Continued | null;
}

/** The input of a chat without a memory. */
interface ChatInput {
  readable(call: ModelCall, raw: Buffer): ReadableInput<Buffer> | null;
  addable(call: ModelCall, raw: Buffer): AddableInput<Buffer>;
}

/**
 * Inputs of steps with the kept turns that they continue, since a kept answer has the values that its caller got back,
 * and nobody sees the text of a compaction. A changed body holds these turns, and `of` says what it continued.
 */
export class ContinuedInputs implements ChatInput {
  readonly #services: ResponsesServices;
  readonly #chat: ChatInput;
  /** By the body as it came, so that the steps of a request look up its turns once. */
  readonly #wholes = new WeakMap<Buffer, Promise<FoundTurns | Failure>>();
  readonly #changed = new WeakMap<Buffer, Continued>();

  constructor(services: ResponsesServices, chat: ChatInput) {
    this.#services = services;
    this.#chat = chat;
  }

  /** Null: no step has changed it, or it continued nothing that is kept here. */
  of(raw: Buffer): Continued | null {
    return this.#changed.get(raw) ?? null;
  }

  readable(call: ModelCall, raw: Buffer): ReadableInput<Buffer> | null {
    const alone = this.#chat.readable(call, raw);
    if (alone === null || (!mayContinue(raw) && !this.#changed.has(raw))) return alone;
    const wholeInput = async () => {
      const found = await this.#lookUp(call, raw);
      if (isFailure(found)) return found;
      const { whole, continued } = found;
      return { body: this.#chat.readable(call, whole) ?? alone, continued };
    };
    return {
      canonical: (part) => alone.canonical(part),
      async texts() {
        const found = await wholeInput();
        return isFailure(found) ? found : found.body.texts();
      },
      rewrite: async (changes) => {
        const found = await wholeInput();
        if (isFailure(found)) return found;
        const { body, continued } = found;
        return this.#remembered(await body.rewrite(changes), continued);
      },
    };
  }

  addable(call: ModelCall, raw: Buffer): AddableInput<Buffer> {
    const alone = this.#chat.addable(call, raw);
    const continued = this.of(raw);
    if (continued === null) return alone;
    return {
      named: () => alone.named(),
      // A second question has turns behind those of its caller: nothing of it is kept.
      with: async (addition) =>
        addition.after === undefined ? this.#remembered(await alone.with(addition), continued) : alone.with(addition),
    };
  }

  #remembered(written: Buffer | Failure, continued: Continued | null): Buffer | Failure {
    if (!isFailure(written) && continued !== null) this.#changed.set(written, continued);
    return written;
  }

  #lookUp(call: ModelCall, raw: Buffer): Promise<FoundTurns | Failure> {
    const known = this.#wholes.get(raw);
    if (known !== undefined) return known;
    const looking = this.#look(call, raw);
    this.#wholes.set(raw, looking);
    return looking;
  }

  async #look({ principal: { tenant } }: ModelCall, raw: Buffer): Promise<FoundTurns | Failure> {
    const changed = this.of(raw);
    if (changed !== null) return { whole: raw, continued: changed };
    const { bodies, responses, snapshots } = this.#services;
    const summed = await withSummaries(this.#services, tenant, raw);
    if (!Buffer.isBuffer(summed)) return summed;
    const read = await bodies.readObject(tenant, summed);
    if (isFailure(read)) return read;
    const { previous, conversation } = continuedBy(read.body);
    const alone: FoundTurns = { whole: summed, continued: null };
    if (previous === null && conversation === null) return alone;
    const { body_limit: limitBytes } = snapshots.current.config.server;
    let begun: string | null = null;
    const notes: ContinuedFacts = {
      begun(id) {
        begun = id;
      },
      before() {},
    };
    const before = await expanded(responses, tenant, summed, { previous, conversation }, limitBytes, notes);
    if (before === null) return alone;
    const whole = Buffer.isBuffer(before) ? await withSummaries(this.#services, tenant, before) : before;
    if (!Buffer.isBuffer(whole)) return whole;
    const newItems = inputItems(read.body.input).length;
    return { whole, continued: { previous, conversation, newItems, begun } };
  }
}

/** Whether a body may name something that is kept, or a compaction of ours. */
function mayContinue(raw: Buffer): boolean {
  // A name may be written with escapes.
  const marks = ['previous_response_id', 'conversation', compactionMark, '\\u'];
  return marks.some((mark) => raw.includes(mark));
}

/** The body with its own items alone. */
export function withNewItems(body: JsonObject, { newItems }: Continued): Buffer {
  const input = inputItems(body.input);
  return Buffer.from(JSON.stringify({ ...body, input: input.slice(input.length - newItems) }));
}
