import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { LastingCallers } from '../../books/auth/caller-note.ts';
import { callerIdOf } from '../../books/auth/principal.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { chatEndpoint } from '../families/chat/endpoint.ts';
import type { CascadeSteps, StepOrder } from '../families/realtime/cascade-steps.ts';
import { speechEndpoint } from '../families/speech/endpoint.ts';
import { voiceRefusal } from '../families/speech/speech-way.ts';
import { transcriptionEndpoint } from '../families/transcription/endpoint.ts';
import { BufferedAnswer, type Outcome } from '../spine/buffered-answer.ts';
import { type CallBounds, type CallOwner, call } from '../spine/call.ts';
import { endUserOf, forUser } from '../spine/end-user.ts';
import type { Bytes, Pace } from '../spine/sink.ts';
import { abandoned } from '../spine/work.ts';
import type { Services } from './services.ts';

/** The steps of a realtime cascade as calls of this gateway's own families, for the key's owner as of now. */
export function createRealtimeSteps(services: Services, { principalOf }: LastingCallers): CascadeSteps {
  const chat = chatEndpoint(services, 'chat', 'openai-chat');
  const speech = speechEndpoint(services);
  const transcription = transcriptionEndpoint(services, 'transcription');
  const step = async (order: StepOrder, ask: (owner: CallOwner, bounds: CallBounds) => Promise<Outcome | null>) => {
    const { clientRequestId, requestId, tag, preferences, ...opened } = order.call;
    const caller = principalOf(callerIdOf(opened.principal));
    if (isFailure(caller)) return { kind: 'refused', failure: caller, headers: [] } as const;
    // Limits are looked up by the principal, so it is another object only for a named user.
    const principal = forUser(caller, endUserOf(opened, null));
    // By which all calls of a session are found.
    const owner = { principal, of: clientRequestId ?? requestId, tag };
    return ask(owner, { signal: order.signal, preferences: { ...preferences, session: null } });
  };

  return {
    async transcribe(order, model, wav, hints) {
      const file = await services.spool.place(order.call.principal.account);
      try {
        await file.fill(Readable.from([wav]));
        const fields = [
          { name: 'model', value: model },
          { name: 'response_format', value: 'json' },
          ...Object.entries(hints).map(([name, value]) => ({ name, value })),
        ];
        const form = { fields, files: [{ name: 'file', fileName: 'speech.wav', file }] };
        const outcome = await step(order, (owner, bounds) => call(services, transcription, owner, form, bounds));
        if (outcome === null) return abandoned;
        if (outcome.kind === 'refused') return outcome.failure;
        const { text } = JSON.parse(outcome.body.toString()) as JsonObject;
        return typeof text === 'string' ? text : '';
      } finally {
        await file.remove();
      }
    },
    async chat(order, body, onChunk) {
      const events = new EventText(onChunk);
      const client = new PassedOn((bytes) => events.push(bytes));
      const raw = Buffer.from(JSON.stringify(body));
      return failureOf(await step(order, (owner, bounds) => call(services, chat, owner, raw, { ...bounds, client })));
    },
    async speak(order, body, onSound) {
      const client = new PassedOn((bytes) => onSound(typeof bytes === 'string' ? Buffer.from(bytes) : bytes));
      const raw = Buffer.from(JSON.stringify(body));
      return failureOf(await step(order, (owner, bounds) => call(services, speech, owner, raw, { ...bounds, client })));
    },
    voiceRefusal: ({ principal }, requested) => voiceRefusal(services, requested, principal),
  };
}

/** Passes an answer on as it comes, and keeps how it ended. */
class PassedOn extends BufferedAnswer {
  readonly #take: (bytes: Bytes) => void;

  constructor(take: (bytes: Bytes) => void) {
    super();
    this.#take = take;
  }

  override chunk(bytes: Bytes): Pace {
    if (!this.disconnected) this.#take(bytes);
    return 'ready';
  }
}

function failureOf(outcome: Outcome | null): Failure | null {
  if (outcome === null) return abandoned;
  return outcome.kind === 'refused' ? outcome.failure : null;
}

/** The chunks in a stream of our own chat completions, wherever it is cut. */
class EventText {
  readonly #onChunk: (chunk: JsonObject) => void;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  constructor(onChunk: (chunk: JsonObject) => void) {
    this.#onChunk = onChunk;
  }

  push(bytes: Bytes): void {
    this.#rest += typeof bytes === 'string' ? bytes : this.#decoder.write(bytes);
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const chunk: unknown = JSON.parse(line.slice('data: '.length));
      if (isObject(chunk)) this.#onChunk(chunk);
    }
  }
}
