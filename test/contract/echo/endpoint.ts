import { openAiChat } from '../../../src/formats/dialects/openai-chat/index.ts';
import { type Fault, fault } from '../../../src/formats/neutral/outcome.ts';
import type { Usage } from '../../../src/formats/neutral/usage.ts';
import { StreamedAnswer, WholeAnswer } from '../../../src/inference/spine/answer.ts';
import type { AnswerReader } from '../../../src/inference/spine/answer-reader.ts';
import { Attempt } from '../../../src/inference/spine/attempts/attempt.ts';
import type { Endpoint } from '../../../src/inference/spine/endpoint.ts';
import { plainQuery } from '../../../src/inference/spine/plain-request.ts';
import { plainFacts, type RequestBody, type RequestFacts } from '../../../src/inference/spine/request-body.ts';
import type { SpineServices } from '../../../src/inference/spine/services.ts';
import { invalid, isFailure } from '../../../src/kernel/failure.ts';
import { parseBody } from '../../../src/kernel/parse-object.ts';
import { noneUsable } from '../../../src/routing/capability.ts';

type EchoBody = RequestBody<RequestFacts & { text: string }>;

/** A family that a stranger adds: it repeats its input, by whichever target of the model is healthy. */
export function echoEndpoint(services: SpineServices): Endpoint<Buffer, EchoBody> {
  return {
    id: 'echo',
    cost: 3,
    read(_call, raw) {
      const parsed = parseBody(raw);
      if (isFailure(parsed)) return parsed;
      const { model, text, stream } = parsed.body;
      if (typeof model !== 'string') return invalid('model', "'model' must be a string.");
      if (typeof text !== 'string') return invalid('text', "'text' must be a string.");
      const said = { model, user: null, stream: stream === true, inputTokensEstimate: text.length };
      return { facts: { ...plainFacts(said), text }, release() {} };
    },
    content: (raw) => raw,
    plan(snapshot, { principal, preferences }, { facts }) {
      const alias = snapshot.models.resolve(facts.model, principal);
      if (isFailure(alias)) return alias;
      const { candidates } = alias;
      if (candidates.length === 0) return noneUsable(alias.id);
      const query = plainQuery({ alias, candidates }, facts, preferences, principal.tenant);
      return { alias, charged: alias, calls: 1, query, form: facts.stream ? 'events' : 'whole' };
    },
    trials: ({ request: { facts } }, job) => ({
      trial(answer) {
        const { attempt } = answer;
        const told = { losses: [], answer: 'pass-through' } as const;
        const body = {
          bytes: JSON.stringify({ model: attempt.target.model, text: facts.text, stream: facts.stream }),
          streamed: facts.stream,
          upstreamDialect: openAiChat,
          path: '/echo',
          inputTokensEstimate: facts.text.length,
          reader: () => new EchoReader(facts.stream),
        };
        const sink = facts.stream ? new StreamedAnswer(answer, told) : new WholeAnswer(answer, told);
        return new Attempt(services, job, attempt, body, sink);
      },
    }),
  };
}

/** `data: …` lines, the last one `[DONE]`; or one JSON object. */
class EchoReader implements AnswerReader {
  contentEvents = 0;
  done = false;
  fault: Fault | null = null;
  usage: Usage | null = null;
  readonly malformedLines = 0;
  readonly #stream: boolean;
  #text = '';

  constructor(stream: boolean) {
    this.#stream = stream;
  }

  get outputTokensSeen(): number {
    return this.#text.length;
  }

  push(chunk: Buffer): Buffer | null {
    this.#text += chunk.toString();
    if (!this.#stream) return null;
    this.contentEvents += 1;
    this.done = this.#text.endsWith('data: [DONE]\n\n');
    this.#count();
    return chunk;
  }

  finish(): Buffer | null {
    if (this.#stream && !this.done) this.fault = fault('truncated', 'broke off');
    if (this.#stream) return null;
    this.contentEvents = 1;
    this.#count();
    return Buffer.from(this.#text);
  }

  #count(): void {
    this.usage = { inputTokens: 1, outputTokens: this.#text.length };
  }
}
