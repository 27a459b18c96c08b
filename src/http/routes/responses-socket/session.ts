import { callerIdOf, type Principal } from '../../../books/auth/principal.ts';
import { responseObject } from '../../../formats/dialects/openai-responses/response-object.ts';
import type { Frame } from '../../../formats/media/realtime/events.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { LongWork } from '../../../inference/families/realtime/realtime-session.ts';
import { type EndListener, SocketEnd } from '../../../inference/families/realtime/socket-end.ts';
import { answeredTrigger } from '../../../inference/families/responses/compaction.ts';
import { ConnectionMemory, type TenantShare } from '../../../inference/families/responses/connection-memory.ts';
import { type ResponsesEndpoint, responsesEndpoint } from '../../../inference/families/responses/endpoint.ts';
import { keepsFor } from '../../../inference/families/responses/keeps-for.ts';
import type { ModelCall } from '../../../inference/spine/model-call.ts';
import { serve } from '../../../inference/spine/serve.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { newRequestId } from '../../../kernel/ids.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Elsewhere } from '../../../kernel/sharing/elsewhere.ts';
import type { RoomHold } from '../../../kernel/sharing/room.ts';
import { acceptWebSocket, handshakeFault } from '../../accept-web-socket.ts';
import { type Exchange, errorContextOf } from '../../exchange.ts';
import { modelCallOf } from '../../model-call.ts';
import { refusalOf } from '../../refused-request.ts';
import { errorMessage, TurnDelivery } from './turn-delivery.ts';

export interface SocketParts {
  services: Services;
  principalOf(keyId: string): Principal | Failure;
  /** Connections that other processes of this server have; undefined: there are none. */
  seat: { elsewhere: Elsewhere } | undefined;
}

/** Without tenants that have no connection. */
export type TenantShares = Map<string, TenantShare>;

/** Connections that one key may have open. */
const connectionsMax = 100;

/** Requests that wait on one connection for the one that runs. */
const waitingMax = 4;
/** OpenAI ends a connection after the same time; clients connect anew. */
const longestMs = 60 * 60_000;
const goingAway = 1001;
const overlong = 1000;

/**
 * `/v1/responses` over a WebSocket: each `response.create` is admitted, planned and charged as a POST is, one after the
 * other. Resolves when the connection is closed and nothing of it runs.
 */
export async function answerSocket(parts: SocketParts, shares: TenantShares, exchange: Exchange): Promise<void> {
  const base = modelCallOf(exchange);
  if (base === null) return;
  const { headers } = base.admitted;
  const fault = exchange.upgrade === null ? plainRequest : handshakeFault(exchange.request);
  if (fault !== null) return refuse(exchange.client, fault, headers);
  const { tenant } = base.principal;
  const share = shares.get(tenant) ?? { connections: 0, chars: 0 };
  const elsewhere = parts.seat?.elsewhere;
  const name = `WebSockets for responses of ${tenant}`;
  const open = share.connections + (elsewhere?.held(name) ?? 0);
  if (open >= connectionsMax) return refuse(exchange.client, tooManyConnections, headers);
  shares.set(tenant, share);
  share.connections += 1;
  elsewhere?.report(name, share.connections, connectionsMax);
  try {
    const { body_limit: messageBytesMax } = parts.services.snapshots.current.config.server;
    const socket = await acceptWebSocket(exchange, { headers, messageBytesMax });
    if (socket !== null) await new Session(parts, exchange, base, new SocketEnd(socket), share).run();
  } finally {
    share.connections -= 1;
    elsewhere?.report(name, share.connections, connectionsMax);
    if (share.connections === 0) shares.delete(tenant);
  }
}

const tooManyConnections: Failure = {
  kind: 'quota-exceeded',
  limit: 'connections',
  window: null,
  used: connectionsMax,
  allowed: connectionsMax,
  freeAtMs: null,
  message: `A key has at most ${connectionsMax} WebSockets for responses open. Close one.`,
};

const plainRequest: Failure = {
  kind: 'upgrade-required',
  to: 'websocket',
  message: 'A GET of this address opens a WebSocket. Send a POST, or open wss://…/v1/responses.',
};

/** An event that waits for its turn, with its place in the room for bodies. */
interface Waiting {
  raw: Buffer;
  held: RoomHold;
}

type TurnTime = Pick<ModelCall, 'requestId' | 'atMs' | 'startedMs'>;

class Session implements EndListener, LongWork {
  readonly #parts: SocketParts;
  readonly #exchange: Exchange;
  readonly #base: ModelCall;
  readonly #socket: SocketEnd;
  readonly #memory: ConnectionMemory;
  readonly #waiting: Waiting[] = [];
  #turn: TurnDelivery | null = null;
  #running: Promise<void> | null = null;
  #state: 'open' | 'draining' | 'closed' = 'open';
  readonly #over = Promise.withResolvers<void>();

  constructor(parts: SocketParts, exchange: Exchange, base: ModelCall, socket: SocketEnd, share: TenantShare) {
    this.#parts = parts;
    this.#exchange = exchange;
    this.#base = base;
    this.#socket = socket;
    this.#memory = new ConnectionMemory(share);
  }

  async run(): Promise<void> {
    const { ending } = this.#exchange;
    const longest = setTimeout(() => this.#expire(), longestMs).unref();
    ending.add(this);
    this.#socket.listen(this);
    try {
      await this.#over.promise;
      await this.#running;
    } finally {
      clearTimeout(longest);
      this.#memory.forget();
      ending.remove(this);
    }
  }

  frame(frame: Frame, binary: boolean): void {
    // The connection is about to end: its answer would reach nobody.
    if (this.#state !== 'open') return;
    if (binary) return this.#refuse(invalid(null, 'Send each event as a message of text.'));
    if (this.#waiting.length >= waitingMax) {
      const message = `At most ${waitingMax} requests wait on one connection. Wait for the end of a response.`;
      return this.#refuse({ kind: 'overloaded', message });
    }
    const raw = typeof frame === 'string' ? Buffer.from(frame) : frame;
    const held = this.#parts.services.uploads.room.hold(this.#base.principal.account);
    const noRoom = held.take(raw.length);
    if (noRoom !== null) {
      held.giveBack();
      return this.#refuse(noRoom);
    }
    this.#waiting.push({ raw, held });
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
  }

  drained(): void {
    this.#turn?.drained();
  }

  closed(): void {
    this.#state = 'closed';
    this.#dropWaiting();
    this.#turn?.leave();
    this.#over.resolve();
  }

  /** The response that runs comes to its end. */
  drain(): void {
    if (this.#state !== 'open') return;
    this.#takeNoMore();
    if (this.#turn === null) this.#leave();
  }

  cut(): void {
    this.#takeNoMore();
    this.#turn?.leave();
    this.#leave();
  }

  #takeNoMore(): void {
    if (this.#state === 'open') this.#state = 'draining';
    this.#dropWaiting();
  }

  #dropWaiting(): void {
    for (const { held } of this.#waiting.splice(0)) held.giveBack();
  }

  #leave(): void {
    this.#socket.close(goingAway, 'The server is shutting down. Connect again.');
  }

  #expire(): void {
    const message = 'The connection is open for 60 minutes, which is the longest. Open a new one.';
    this.#refuse({ kind: 'request-timeout', message });
    this.#takeNoMore();
    this.#turn?.leave();
    this.#socket.close(overlong, 'websocket_connection_limit_reached');
  }

  #refuse(failure: Failure): void {
    this.#socket.send(errorMessage(failure, this.#contextOf(this.#base.requestId)));
  }

  #contextOf(requestId: string) {
    return errorContextOf({ ...this.#exchange, requestId }, this.#parts.services.clock.wallMs());
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const requestId = newRequestId(this.#parts.services.clock.wallMs());
      const turn = new TurnDelivery(this.#socket, () => this.#contextOf(requestId));
      this.#turn = turn;
      try {
        await this.#answer(next.raw, requestId, turn);
      } catch {
        turn.end({ failure: { kind: 'internal' }, headers: [] });
      } finally {
        this.#turn = null;
        next.held.giveBack();
      }
      if (this.#state === 'draining') this.#leave();
    }
  }

  /** One event of the caller's. */
  async #answer(raw: Buffer, requestId: string, turn: TurnDelivery): Promise<void> {
    const { services, principalOf } = this.#parts;
    const read = await services.bodies.readObject(this.#base.principal.tenant, raw);
    if (isFailure(read)) return turn.refuse(read);
    const { type, stream_id: lane, stream: _, background, generate, ...requestMembers } = read.body;
    if (type !== 'response.create') return turn.refuse(unknownEvent);
    if (lane !== undefined) return turn.refuse(noLanes);
    if (background === true) return turn.refuse(noBackground);
    const now = { requestId, atMs: services.clock.wallMs(), startedMs: services.clock.monotonicMs() };
    const principal = principalOf(callerIdOf(this.#base.principal));
    if (isFailure(principal)) return this.#refused(turn, principal, now);
    const admitted = await services.admission.admit(principal, 'one', { requestId, form: 'openai' });
    if (admitted.kind !== 'admitted') return this.#refused(turn, admitted, now);
    const trace = services.traces?.begin({ ...now, headers: null }) ?? null;
    const { clientRequestId, requestId: connection } = this.#base;
    const call: ModelCall = {
      ...this.#base,
      ...now,
      // By which all responses of a connection are found.
      clientRequestId: clientRequestId ?? connection,
      principal,
      admitted,
      delivery: turn,
      client: turn,
      sink: turn,
      idempotencyKey: null,
      trace,
    };
    try {
      await this.#respond(call, turn, this.#memory.continued(requestMembers), generate === false);
      // It has no row in the ledger.
      if (turn.failure !== null && admitted.booked !== true) this.#record(turn.failure, now, admitted);
    } finally {
      admitted.release();
      const { account, keyId } = principal;
      const { clientRequestId } = call;
      const end = { requestId, clientRequestId, account, keyId, method: null, status: turn.status, about: null };
      trace?.end({ ...end, route: 'response over a WebSocket' }, services.clock.monotonicMs());
    }
  }

  async #respond(call: ModelCall, turn: TurnDelivery, body: JsonObject, isUnmade: boolean): Promise<void> {
    const { services } = this.#parts;
    const endpoint = responsesEndpoint(services);
    const raw = Buffer.from(JSON.stringify({ ...body, stream: true }));
    if (isUnmade) await unmadeResponse(services, endpoint, call, raw, turn);
    else if (!(await answeredTrigger(services, endpoint, call, raw))) await serve(services, endpoint, call, raw);
    const { response } = turn;
    if (response === null || response.status === 'failed') return;
    // Whatever is kept elsewhere is continued from there.
    const mayKeep =
      body.store !== false && response.store !== false && keepsFor(services.snapshots.current, call.principal);
    if (isUnmade || !mayKeep) this.#memory.keep(body, response, call.requestId);
  }

  #refused(turn: TurnDelivery, failure: Failure, now: TurnTime): void {
    this.#record(failure, now, null);
    turn.refuse(failure);
  }

  #record(failure: Failure, now: TurnTime, admitted: Exchange['admitted']): void {
    const nowMs = this.#parts.services.clock.wallMs();
    const exchange = { ...this.#exchange, ...now, admitted };
    exchange.onRefused(refusalOf(exchange, failure, factsOf(failure, nowMs), nowMs));
  }
}

const unknownEvent = invalid('type', "'type' must be response.create: Culvert knows no other event here.");
const noLanes = invalid('stream_id', "'stream_id' is not supported: the responses of a connection come one by one.");
const noBackground = invalid('background', "'background' does not work over a WebSocket. Send a POST.");

/**
 * A response that nobody makes (`generate: false`), by which clients send a conversation before they ask: it is checked
 * and answered without output, asks no provider and costs nothing.
 */
async function unmadeResponse(
  services: Services,
  endpoint: ResponsesEndpoint,
  call: ModelCall,
  raw: Buffer,
  turn: TurnDelivery,
): Promise<void> {
  const read = await endpoint.read(call, raw);
  if (isFailure(read)) return refuse(turn, read, call.admitted.headers);
  const plan = await endpoint.plan(services.snapshots.current, call, read);
  await read.release();
  if (isFailure(plan)) return refuse(turn, plan, call.admitted.headers);
  const facts = {
    id: `resp_${call.requestId.slice(4)}`,
    createdS: Math.floor(call.atMs / 1_000),
    model: plan.alias.id,
    echo: read.facts.echo,
    output: [],
    usage: null,
  };
  turn.start('events', []);
  for (const [at, [type, status]] of steps.entries()) {
    const event = { type, sequence_number: at, response: responseObject(facts, { status }) };
    turn.chunk(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  turn.end(null);
}

const steps = [
  ['response.created', 'in_progress'],
  ['response.completed', 'completed'],
] as const;
