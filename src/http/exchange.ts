import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Operator } from '../books/auth/operator.ts';
import type { Principal } from '../books/auth/principal.ts';
import type { Admitted, AdmitWeight, LimitHeaderForm } from '../books/metering/admission.ts';
import type { Refusal } from '../books/metering/refusal.ts';
import type { CallerDialect, StreamWire } from '../formats/dialects/dialect.ts';
import type { JsonSchema } from '../formats/neutral/described-check.ts';
import type { Ending } from '../inference/families/realtime/realtime-session.ts';
import type { ChargedCall } from '../inference/spine/held-call.ts';
import type { Delivery } from '../inference/spine/sink.ts';
import type { ErrorContext, Failure } from '../kernel/failure.ts';
import type { RoomHold } from '../kernel/sharing/room.ts';
import type { Trace } from '../kernel/trace.ts';
import type { CallNews } from '../tools/mcp/call-news.ts';

/** One request on its way through the server, with all that was found out about it so far. */
export interface Exchange extends Readonly<Pick<ChargedCall, 'requestId' | 'clientRequestId' | 'atMs' | 'startedMs'>> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The caller that waits, and where its answer goes. */
  readonly client: Delivery;
  /** Its body, where it did not come over the wire; null: it is still to be read from `request`. */
  givenBody: Buffer | null;
  /** `server.public_url`, the beginning of links in errors. */
  readonly publicUrl: string | undefined;
  /** Path without the query; what the router matched and auth was decided on. */
  readonly path: string;
  /** The raw query behind the `?`; '' when there is none. */
  readonly search: string;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly route: Route | null;
  /** Set before `handle` on every route with `auth: 'key'`. */
  principal: Principal | null;
  /** Set before `handle` on every route with `auth: 'admin'`. */
  operator: Operator | null;
  admitted: Admitted | null;
  /** Null: nobody traces it. Set before `handle`. */
  trace: Trace | null;
  /** Bytes of its body that count in the room for bodies, from `handle` to its end; null on routes without a key. */
  held: RoomHold | null;
  /** It asks for a WebSocket, at a route that takes them; null: a plain request. */
  readonly upgrade: Upgrade | null;
  /** For work that goes on after its answer: the server shuts down. */
  readonly ending: Ending;
  /** Form of its stream where the caller chose one; absent: that of the route's dialect. */
  wire?: StreamWire;
  /** Its body is read to its end, and dropped: the answer does not wait for it. */
  dropsBody: boolean;
  /** Id of its JSON-RPC message, which errors repeat; absent: none was read. */
  rpcId?: string | number;
  /** Takes news of its call of an MCP server; absent: nobody wants any. */
  mcpNews?: CallNews;
  /** Called with the failure that the caller gets, where no ledger row records this request. */
  readonly onRefused: (refusal: Refusal) => void;
}

/** A connection that is to become a WebSocket. Until it does, the exchange's response answers on it. */
export interface Upgrade {
  readonly socket: Duplex;
  /** Bytes behind the request's head. */
  readonly head: Buffer;
  /** Nobody looks any more whether the caller has left: another reader begins, in a later turn of the loop. */
  readonly stopWatching: () => void;
}

/** Body of a request: JSON, unless it says form. `schema` is JSON Schema, made on demand. */
export interface RouteBody {
  form?: 'multipart/form-data';
  schema(): JsonSchema | Promise<JsonSchema>;
  /** Schema of the JSON body that does as well as a form. */
  json?(): JsonSchema;
}

/** The same call for clients of another vendor, who are known by a header. */
export interface OtherFormat {
  header: string;
  route: Route;
}

/** A caller whose signature is right, with the body that it signed. */
export interface SignedCaller {
  principal: Principal;
  body: Buffer;
}

/** One row of the route table: everything the server must enforce before a handler runs, in one place. */
export interface Route {
  method: 'GET' | 'POST' | 'HEAD' | 'PUT' | 'PATCH' | 'DELETE';
  /** find-my-way's pattern. */
  path: string;
  /**
   * `key` and `admin` accept the session of a browser, too. `session`: the handler itself asks for one, or opens one.
   * `none` needs a reason: see test/faults.
   */
  auth: 'key' | 'admin' | 'session' | 'none';
  /** How the call counts in requests per minute. `none`: not metered at all. */
  quota: Exclude<AdmitWeight, 'message'> | 'none';
  /** Format of the limit headers in addition to the IETF's. Default: OpenAI's. */
  limitForm?: LimitHeaderForm;
  /** Name of the endpoint in the ledger and in counts of refused requests. Default: its path. */
  endpoint?: string;
  /** Dialect of its error bodies. */
  dialect: Pick<CallerDialect, 'errorBody' | 'errorStatus' | 'errorHeaders' | 'errorFrame' | 'wire'>;
  otherFormats?: readonly OtherFormat[];
  /** `WWW-Authenticate` of a 401. Default: `Bearer`. */
  challenge?(exchange: Pick<Exchange, 'request' | 'path'>): string;
  /** Lets in who sends proof of another kind than a key, in headers or query; null: nothing of that kind was sent. */
  lets?(headers: IncomingHttpHeaders, search: string): Principal | Failure | null;
  /** Tells who signed a request that has no key; null: it is not signed, or the caller left. */
  signed?(exchange: Exchange, addressOf: () => string | null): Promise<SignedCaller | Failure | null>;
  /** A WebSocket may be opened here; the handler accepts it. Its key may come as a subprotocol. */
  webSocket?: true;
  /** Short description for /openapi.json. */
  summary: string;
  /** Its parameters and body, for /openapi.json. */
  body?: RouteBody;
  handle(exchange: Exchange): Promise<void> | void;
}

/** The caller on a route with `auth: 'key'`; other routes have none. */
export function callerOf({ principal }: Pick<Exchange, 'principal'>): Principal {
  if (principal === null) throw new Error('the route asks for no key');
  return principal;
}

/** Admission of a request, on routes that ask for a key. */
export function admittedOf({ admitted }: Pick<Exchange, 'admitted'>): Admitted {
  if (admitted === null) throw new Error('the route asks for no key');
  return admitted;
}

/** The operator, on routes with `auth: 'admin'`. */
export function operatorOf({ operator }: Pick<Exchange, 'operator'>): Operator {
  if (operator === null) throw new Error('the route asks for no operator');
  return operator;
}

/** Facts of a request that its error answer shows. */
export function errorContextOf(
  { requestId, publicUrl, rpcId, request }: Pick<Exchange, 'requestId' | 'publicUrl' | 'rpcId' | 'request'>,
  nowMs: number,
): ErrorContext {
  return { requestId, publicUrl, rpcId, nowMs, userAgent: request.headers['user-agent'] };
}

/** A request header's first value. Node has lower-cased the names and joined repeats. */
export function headerOf(exchange: Exchange, name: string): string | undefined {
  const value = exchange.request.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
