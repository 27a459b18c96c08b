import { setTimeout as pause } from 'node:timers/promises';
import type { Principal } from '../../../books/auth/principal.ts';
import type { RequestState } from '../../../formats/dialects/dialect.ts';
import { backoffMs } from '../../../kernel/backoff.ts';
import { type Failure, FailureError, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { dialectFor } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { runAttempts } from '../../spine/attempts/run-attempts.ts';
import type { Endpoint, Plan, PlannedRequest, Trials } from '../../spine/endpoint.ts';
import type { Job } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { addableBody } from '../../spine/prompted.ts';
import type { Sink } from '../../spine/sink.ts';
import type { ConversationBody } from '../chat/conversation-body.ts';
import { chatEndpoint } from '../chat/endpoint.ts';
import type { ChatPlan } from '../chat/plan-extras.ts';
import { type Continued, ContinuedInputs, withNewItems } from './continued-input.ts';
import { conversationNotFound, expanded, previousNotFound } from './expand.ts';
import { inputItems, storedItems } from './input-items.ts';
import { KeepingSink } from './keeping-sink.ts';
import { keepsFor } from './keeps-for.ts';
import { encryptedThoughts, includesSealedThoughts, SealingSink } from './sealed-thoughts.ts';
import type { ResponsesServices } from './services.ts';
import { addedOf, saltOfId } from './stored-responses.ts';
import { withSummaries } from './summaries.ts';

/** A response asked for, with what is kept of it and what it continues. */
export interface TurnBody extends ConversationBody {
  /** Null: nothing is kept of it, and it names nothing that is. */
  turn: Turn | null;
  /** Its caller brings thoughts back itself; absent: it does not. */
  sealsThoughts?: true;
}

export interface Turn extends RequestState {
  /** The body from the caller, unchanged. */
  raw: Buffer;
  /** `provider`: what it continues is not kept here, so a provider may have it. */
  continues: 'nothing' | 'kept' | 'provider';
  /** The body with the kept turns that it continues before its input; null: it continues none. */
  whole: Buffer | null;
  /** Items before the caller's in it. */
  itemsBefore: number;
}

/** The plan of a turn, with the keeper of its answer. */
export interface TurnPlan extends ChatPlan {
  keeper: 'gateway' | 'provider' | 'nobody';
}

export type ResponsesEndpoint = Endpoint<Buffer, TurnBody, TurnPlan>;

/**
 * `POST /v1/responses` with a memory: what a request continues is put before its input, so that any provider can answer
 * it, and the answer is kept for the next turn. Where all that may answer are one provider that keeps responses itself,
 * they stay there.
 */
export function responsesEndpoint(services: ResponsesServices): ResponsesEndpoint {
  const chat = chatEndpoint(services, 'responses', 'openai-responses');
  const { id, cost, content, traced, keeps, passed } = chat;
  const inputs = new ContinuedInputs(services, {
    readable: (call, raw) => chat.readable?.(call, raw) ?? null,
    addable: (call, raw) => addableBody(services.bodies, call, raw, 'openai-responses'),
  });
  return {
    id,
    cost,
    content,
    filters: 'events',
    readable: (call, raw) => inputs.readable(call, raw),
    addable: (call, raw) => inputs.addable(call, raw),
    // A kept answer has its thoughts as they came.
    keeps: (request) => (request.sealsThoughts === undefined ? (keeps?.(request) ?? null) : null),
    ...(passed !== undefined && { passed }),
    ...(traced !== undefined && { traced }),
    unkept: ({ turn }) => (turn === null || turn.continues === 'provider' ? null : unkeptBody(turn)),
    read(call, sent) {
      const reading = readSent(call, sent);
      return sent.includes(encryptedThoughts) ? sealingThoughts(services, call, sent, reading) : reading;
    },
    async plan(snapshot, call, request) {
      const plan = await chat.plan(snapshot, call, request);
      const { turn } = request;
      if (isFailure(plan)) return turn === null ? plan : asNotFound(failureInCallerFields(plan, turn), request);
      if (turn === null) return { ...plan, keeper: 'nobody' };
      const bound = fieldOfCaller(plan.bound, turn);
      return { ...plan, bound, keeper: await keeperOf(services, snapshot, call.principal, turn, plan) };
    },
    trials: (planned, job) => trialsOf(services, chat.trials(planned, job), planned, job),
  };

  function readSent(call: ModelCall, sent: Buffer): TurnBody | Failure | Promise<TurnBody | Failure> {
    const continued = inputs.of(sent);
    if (continued !== null) return readChanged(services, chat, call, sent, continued);
    const raw = withSummaries(services, call.principal.tenant, sent);
    if (Buffer.isBuffer(raw)) return readTurn(call, raw);
    return raw.then((extended) => (Buffer.isBuffer(extended) ? readTurn(call, extended) : extended));
  }

  function readTurn(call: ModelCall, raw: Buffer): TurnBody | Failure | Promise<TurnBody | Failure> {
    const reading = chat.read(call, raw);
    const turned = (read: ConversationBody | Failure) => {
      if (isFailure(read)) return read;
      const state = read.facts.extras?.state ?? null;
      if (state?.background === true) return plainBackground;
      return state === null ? withTurn(read, null) : opened(services, chat, call, raw, read, state);
    };
    return reading instanceof Promise ? reading.then(turned) : turned(reading);
  }
}

/** Trials whose answer is kept, and has its thoughts sealed, where its request says so. */
function trialsOf(
  services: ResponsesServices,
  trials: Trials,
  { call, request: { turn, sealsThoughts }, plan }: PlannedRequest<TurnBody, TurnPlan>,
  job: Job,
): Trials {
  const sealed = (next: Sink) =>
    sealsThoughts === undefined
      ? next
      : new SealingSink(next, (text) => services.responses.sealText(call.principal.tenant, text));
  if (turn === null || plan.keeper !== 'gateway') {
    job.sink = sealed(job.sink);
    return trials;
  }
  const sink = new KeepingSink(
    job.sink,
    (response) => shownOf(call, turn, response),
    (response) => keep(services, call, turn, response),
  );
  job.sink = sealed(sink);
  return {
    ...trials,
    async run() {
      await (trials.run === undefined ? runAttempts(services, job, trials) : trials.run());
      await sink.finished;
    },
  };
}

/** A body whose answer seals its thoughts, where the one that was sent says so in `include`. */
async function sealingThoughts(
  { bodies }: ResponsesServices,
  { principal }: ModelCall,
  sent: Buffer,
  reading: TurnBody | Failure | Promise<TurnBody | Failure>,
): Promise<TurnBody | Failure> {
  const read = await reading;
  if (isFailure(read)) return read;
  const object = await bodies.readObject(principal.tenant, sent);
  const isIncluded = !isFailure(object) && includesSealedThoughts(object.body);
  return isIncluded ? { ...read, sealsThoughts: true } : read;
}

/** Reads a body that a step has changed. It holds the kept turns already. */
async function readChanged(
  { bodies }: ResponsesServices,
  chat: ReturnType<typeof chatEndpoint>,
  call: ModelCall,
  whole: Buffer,
  continued: Continued,
): Promise<TurnBody | Failure> {
  const read = await chat.read(call, whole);
  const object = await bodies.readObject(call.principal.tenant, whole);
  if (isFailure(object)) return object;
  const { body } = object;
  const { previous, conversation, begun, newItems } = continued;
  const itemsBefore = inputItems(body.input).length - newItems;
  if (isFailure(read)) return failureInCallerFields(read, { continues: 'kept', previous, itemsBefore });
  const { facts } = read;
  const { store, background } = facts.extras?.state ?? { store: false, background: false };
  if (background) return plainBackground;
  const named = { ...read, facts: { ...facts, session: facts.session ?? begun } };
  const raw = withNewItems(body, continued);
  return withTurn(named, { store, background, previous, conversation, raw, continues: 'kept', whole, itemsBefore });
}

async function opened(
  services: ResponsesServices,
  chat: ReturnType<typeof chatEndpoint>,
  call: ModelCall,
  raw: Buffer,
  body: ConversationBody,
  state: RequestState,
): Promise<TurnBody | Failure> {
  const turn: Turn = { ...state, raw, continues: 'nothing', whole: null, itemsBefore: 0 };
  if (state.previous === null && state.conversation === null) return withTurn(body, turn);
  const { body_limit: limitBytes } = services.snapshots.current.config.server;
  let begun: string | null = null;
  let itemsBefore = 0;
  const whole = await expanded(services.responses, call.principal.tenant, raw, state, limitBytes, {
    begun(id) {
      begun = id;
    },
    before(items) {
      itemsBefore = items;
    },
  });
  if (whole === null) return withTurn(body, { ...turn, continues: 'provider' });
  await body.release();
  if (isFailure(whole)) return whole;
  const extended = await withSummaries(services, call.principal.tenant, whole);
  if (!Buffer.isBuffer(extended)) return extended;
  const read = await chat.read(call, extended);
  const continuing: Turn = { ...turn, continues: 'kept', whole: extended, itemsBefore };
  if (isFailure(read)) return failureInCallerFields(read, continuing);
  const { facts } = read;
  const named = { ...read, facts: { ...facts, session: facts.session ?? begun } };
  return withTurn(named, continuing);
}

function unkeptBody({ raw, whole }: Turn): Buffer {
  const body = JSON.parse((whole ?? raw).toString('utf8')) as JsonObject;
  return Buffer.from(JSON.stringify({ ...body, store: false }));
}

/** One that runs without its caller never comes here: its member must have been written so that nobody sees it. */
const plainBackground = invalid('background', "Write the name 'background' without escapes.");

function withTurn(body: ConversationBody, turn: Turn | null): TurnBody {
  const named = <V>(encoded: V | Failure): V | Failure =>
    !isFailure(encoded) || turn === null ? encoded : failureInCallerFields(encoded, turn);
  return {
    facts: body.facts,
    encode(order) {
      const encoded = body.encode(order);
      return encoded instanceof Promise ? encoded.then(named) : named(encoded);
    },
    release: () => body.release(),
    turn,
  };
}

type Placed = Pick<Turn, 'continues' | 'previous' | 'itemsBefore'>;

/** An item that was put before the input is named by what the caller sent in its place, a later one by its own place. */
function fieldOfCaller(field: Plan['bound'], { continues, previous, itemsBefore }: Placed): Plan['bound'] {
  const found = /^input\[(\d+)\](.*)$/.exec(field ?? '');
  if (found === null || continues !== 'kept') return field;
  const at = Number(found[1]) - itemsBefore;
  if (at >= 0) return `input[${at}]${found[2]}`;
  return previous === null ? 'conversation' : 'previous_response_id';
}

function failureInCallerFields(failure: Failure, turn: Placed): Failure {
  if ((failure.kind !== 'invalid-request' && failure.kind !== 'not-found') || failure.param == null) return failure;
  const param = fieldOfCaller(failure.param, turn) ?? failure.param;
  if (param === failure.param) return failure;
  return { ...failure, param, message: failure.message.replaceAll(failure.param, param) };
}

/** Where no provider of the model has what a request continues either, OpenAI's own words for that. */
function asNotFound(failure: Failure, { turn, facts }: TurnBody): Failure {
  if (turn?.continues !== 'provider' || (failure.kind !== 'not-found' && failure !== facts.extras?.nativeOnly))
    return failure;
  const { previous, conversation } = turn;
  const param = 'param' in failure ? failure.param : null;
  if (param === 'previous_response_id' && previous !== null) return previousNotFound();
  return param === 'conversation' && conversation !== null ? conversationNotFound(conversation, param) : failure;
}

async function keeperOf(
  { snapshots, storage }: ResponsesServices,
  { providers }: Snapshot,
  principal: Principal,
  { store, conversation, continues }: Turn,
  { query, extras }: ChatPlan,
): Promise<TurnPlan['keeper']> {
  // A conversation gets its items whatever the request says of the response itself.
  if (!store && conversation === null) return 'nobody';
  // What a provider keeps is continued there alone.
  if (continues === 'provider') return 'provider';
  // An answer of several turns is no response that a provider has.
  if (continues === 'nothing' && (extras?.tools ?? null) === null && oneKeeps(query.targets, providers))
    return 'provider';
  const mayBeStored = keepsFor(snapshots.current, principal) && (await storage.mayKeep(principal.account)) === null;
  return mayBeStored ? 'gateway' : 'nobody';
}

/** Whether all of these are one provider, which is asked in this format and keeps responses itself. */
export function oneKeeps(candidates: readonly RouteCandidate[], providers: Snapshot['providers']): boolean {
  const [first] = candidates;
  if (first === undefined || providers.get(first.target.provider)?.connection.provider.keepsResponses !== true)
    return false;
  return candidates.every(
    ({ target }) =>
      target.provider === first.target.provider && dialectFor(target, 'openai-responses') === 'openai-responses',
  );
}

/**
 * The response with the fields that place it among others. It is kept under an id of ours: some servers number theirs
 * from 1 on after each start, or choose a short number at random, and it would take the place of another one.
 */
function shownOf({ requestId }: ModelCall, { store, previous, conversation }: Turn, response: JsonObject): JsonObject {
  return {
    ...response,
    id: `resp_${requestId.slice(4)}`,
    store,
    previous_response_id: previous,
    ...(conversation !== null && { conversation: { id: conversation } }),
  };
}

/** A database that is late has so long; a turn that a conversation lacks is worse than an end that comes late. */
const keepMaxMs = 5_000;
const keepPauses = { firstMs: 100, maxMs: 1_000 };

/** False when it could not be kept: then the caller learns so, and has the answer all the same. */
export async function keep(
  { responses, clock, onTrouble }: ResponsesServices,
  { principal, requestId }: ModelCall,
  { raw, store, previous, conversation }: Pick<Turn, 'raw' | 'store' | 'previous' | 'conversation'>,
  response: JsonObject,
): Promise<boolean> {
  const { input } = JSON.parse(raw.toString('utf8')) as JsonObject;
  const items = storedItems(input, saltOfId(requestId));
  const id = String(response.id);
  const untilMs = clock.monotonicMs() + keepMaxMs;
  for (let tries = 1; ; tries += 1) {
    try {
      if (!store) return await responses.addItems(principal.tenant, conversation!, [...items, ...addedOf(response)]);
      await responses.put(principal.tenant, { id, previous, conversation, input: items, response, runs: false });
      return true;
    } catch (error) {
      const isFull = error instanceof FailureError && error.failure.kind === 'quota-exceeded';
      if (isFull) return false;
      if (clock.monotonicMs() >= untilMs) {
        onTrouble(`the response of ${requestId} could not be kept: ${String(error)}`);
        return false;
      }
      // A second write after an unanswered one changes nothing.
      await pause(backoffMs(tries, keepPauses));
    }
  }
}
