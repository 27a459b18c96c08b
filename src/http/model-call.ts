import type { IncomingHttpHeaders } from 'node:http';
import { storedBytesMax } from '../inference/endpoints/body-keeper.ts';
import type { Services } from '../inference/endpoints/services.ts';
import type { Endpoint, Plan } from '../inference/spine/endpoint.ts';
import { readIdempotencyKey } from '../inference/spine/idempotency.ts';
import type { ModelCall } from '../inference/spine/model-call.ts';
import type { RequestBody } from '../inference/spine/request-body.ts';
import { serve } from '../inference/spine/serve.ts';
import { refuse } from '../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../kernel/failure.ts';
import { headerText } from '../kernel/web/header-text.ts';
import { defaultPreferences, type RoutingPreferences } from '../routing/route.ts';
import type { Exchange, Route } from './exchange.ts';
import { isNamed, LoggedSink, loggedBytesMax } from './log-bodies.ts';
import { readJsonBody, wrongMediaType } from './read-body.ts';
import { type Multipart, readMultipart } from './read-multipart.ts';
import { tagOf } from './tag-header.ts';
import { TracedSink } from './traced-content.ts';
import { refuseCall } from './write-json.ts';

/** Input of an endpoint: a body, and the parts of the request outside of it. */
export type InputOf<I, Body> = (exchange: Exchange, body: Body) => I | Failure;

/** Nothing does. */
export function asReceived<Body>(_: Exchange, body: Body): Body {
  return body;
}

/** The handler of a route of JSON bodies that a model answers. */
export function bodyHandler<I extends object, R extends RequestBody, P extends Plan>(
  services: Services,
  endpoint: Endpoint<I, R, P>,
  inputOf: InputOf<I, Buffer>,
): Route['handle'] {
  return async (exchange) => {
    const call = modelCallOf(exchange);
    if (call === null) return;
    const { server, telemetry } = services.snapshots.current.config;
    const body = await readJsonBody(exchange, server.body_limit);
    if (body === null) return;
    if (!Buffer.isBuffer(body)) return refuse(call.sink, body, call.admitted.headers);
    const { deployment } = exchange.params;
    // Azure's clients name the model in the path, whatever their body says.
    const named =
      deployment === undefined ? null : await services.bodies.withModel(call.principal.tenant, body, deployment);
    if (isFailure(named)) return refuse(call.sink, named, call.admitted.headers);
    const input = inputOf(exchange, named ?? body);
    if (isFailure(input)) return refuse(call.sink, input, call.admitted.headers);
    const { bodies } = telemetry.log;
    const seen = bodies === false ? call : logged(services, exchange, call, body, bodies);
    const shown = services.bodyKeeper.rules.none ? seen : withStoredBodies(services, exchange, seen, body);
    const { content } = telemetry.otlp;
    await serve(services, endpoint, content === false ? shown : traced(endpoint, shown, input, content), input);
  };
}

/**
 * The same for uploads, whose files are on disk while they are served. They are removed on every path. `formOf`: reads
 * the JSON body that the endpoint takes as well; absent: it takes forms alone.
 */
export function uploadHandler<I extends object, R extends RequestBody, P extends Plan>(
  services: Services,
  endpoint: Endpoint<I, R, P>,
  filesMax: number,
  inputOf: InputOf<I, Multipart>,
  formOf?: (exchange: Exchange, call: ModelCall) => Promise<Multipart | Failure | null>,
): Route['handle'] {
  return async (exchange) => {
    const call = modelCallOf(exchange);
    if (call === null) return;
    const { server, telemetry } = services.snapshots.current.config;
    const hold = await services.storage.hold(call.principal.account);
    if (isFailure(hold)) return refuse(call.sink, hold, call.admitted.headers);
    let form: Multipart | Failure | null = null;
    try {
      form =
        formOf !== undefined && wrongMediaType(exchange.request.headers['content-type']) === null
          ? await formOf(exchange, call)
          : await readMultipart(exchange, services.spool, { bodyBytes: server.upload_limit, files: filesMax, hold });
      if (form === null) return;
      if (isFailure(form)) return refuse(call.sink, form, call.admitted.headers);
      const { deployment } = exchange.params;
      const input = inputOf(exchange, deployment === undefined ? form : formForDeployment(form, deployment));
      if (isFailure(input)) return refuse(call.sink, input, call.admitted.headers);
      const { bodies } = telemetry.log;
      const seen = bodies === false ? call : logged(services, exchange, call, null, bodies);
      const isStored = !services.bodyKeeper.rules.none;
      await serve(services, endpoint, isStored ? withStoredBodies(services, exchange, seen, null) : seen, input);
    } finally {
      if (form !== null && !isFailure(form)) await form.release();
      hold.release();
    }
  };
}

/** Null when its headers were refused. `plain`: preferences of a route whose headers choose nothing; absent: its headers'. */
export function modelCallOf(exchange: Exchange, plain?: RoutingPreferences): ModelCall | null {
  const { request, client, requestId, clientRequestId, atMs, startedMs, trace, principal, admitted } = exchange;
  const { headers } = request;
  const preferences = plain ?? readRoutingOptions(headers);
  if (isFailure(preferences)) return refuseCall(exchange, preferences);
  const { 'idempotency-key': key, traceparent } = plain === undefined ? headers : noHeaders;
  const idempotencyKey = key === undefined ? null : readIdempotencyKey(headers);
  if (idempotencyKey !== null && typeof idempotencyKey === 'object') return refuseCall(exchange, idempotencyKey);
  if (trace !== null && plain === undefined) trace.session = preferences.session;
  return {
    requestId,
    clientRequestId,
    principal: principal!,
    admitted: admitted!,
    delivery: client,
    client,
    sink: client,
    callerHeaders: headers,
    tag: headers['x-culvert-tag'] === undefined ? null : tagOf(headers),
    preferences,
    run: traceparent === undefined ? undefined : traceOf(headers),
    idempotencyKey,
    trace,
    atMs,
    startedMs,
  };
}

const noHeaders: IncomingHttpHeaders = {};

/** The call of a route whose headers choose no target, which an admitted caller makes. */
export function plainCallOf(exchange: Exchange): ModelCall {
  return modelCallOf(exchange, defaultPreferences)!;
}

/** For keys that `named` holds, with a sink that logs the bodies. */
function logged(
  services: Services,
  { path, response }: Exchange,
  call: ModelCall,
  body: Buffer | null,
  named: readonly string[],
): ModelCall {
  const { principal, requestId, delivery } = call;
  if (!isNamed(principal, named)) return call;
  const write = services.logBodies;
  const wallMs = () => services.clock.wallMs();
  const facts = { requestId, path, principal, body, bytesMax: loggedBytesMax, write, wallMs };
  const sink = new LoggedSink(delivery, delivery, facts);
  response.once('close', () => sink.left());
  return { ...call, sink, withhold: () => sink.withhold() };
}

/** Where an operator wants bodies of this caller kept, with a sink that keeps them. */
function withStoredBodies(
  { bodyKeeper, clock }: Services,
  { path, response }: Exchange,
  call: ModelCall,
  body: Buffer | null,
): ModelCall {
  const { principal, requestId, delivery } = call;
  const of = bodyKeeper.rules.storedModelsOf(principal, clock.wallMs());
  if (of === null) return call;
  let model: string | null = null;
  const sink = new LoggedSink(call.sink, delivery, {
    requestId,
    path,
    principal,
    body,
    bytesMax: storedBytesMax,
    wallMs: () => clock.wallMs(),
    write({ status, request, answer, error = null }, media) {
      if (of !== 'all' && (model === null || !of.has(model))) return;
      const { account, run, keyId } = principal;
      const facts = { requestId, account, keyId: run?.keyId ?? keyId, model, path, status };
      const shown = media && { type: media.type, base64: media.bytes.toString('base64') };
      bodyKeeper.keep({ ...facts, request, answer, error, media: shown });
    },
  });
  response.once('close', () => sink.left());
  const withhold = () => {
    call.withhold?.();
    sink.withhold();
  };
  const planned = (alias: string) => {
    model = alias;
  };
  return { ...call, sink, withhold, planned };
}

/** For keys that `named` holds, with a sink that gives the trace the request and the answer. */
function traced<I extends object, R extends RequestBody, P extends Plan>(
  endpoint: Pick<Endpoint<I, R, P>, 'traced'>,
  call: ModelCall,
  input: I,
  named: readonly string[],
): ModelCall {
  const { trace, principal, sink: next } = call;
  if (trace === null || endpoint.traced === undefined || !isNamed(principal, named)) return call;
  const sink = new TracedSink(next, trace, (answer) => endpoint.traced!(input, answer));
  const withhold = () => {
    call.withhold?.();
    sink.withhold();
  };
  return { ...call, sink, withhold };
}

/** The session that a trace of the caller is; undefined for a header that is not as the W3C writes it. */
function traceOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  const [, id] = typeof traceparent === 'string' ? (/^[\da-f]{2}-(?!0{32})([\da-f]{32})-/.exec(traceparent) ?? []) : [];
  return id === undefined ? undefined : `trace:${id}`;
}

const timeoutMaxMs = 24 * 3_600_000;
/** Ours first, then those that coding assistants send anyway (clients.md, conclusion 17). */
const sessionHeaders = [
  'x-culvert-session',
  'x-claude-code-session-id',
  'session-id',
  'x-session-affinity',
  'x-session-id',
] as const;

/** Values of `x-culvert-no-fallback` that leave fallbacks on. */
const negations = /^(?:false|0|no|off)$/i;

/** Routing options of the caller; a Failure (400) names the wrong header. */
function readRoutingOptions(headers: IncomingHttpHeaders): RoutingPreferences | Failure {
  const timeout = headers['x-culvert-timeout-ms'];
  const timeoutMs = timeout === undefined ? null : decimal(timeout);
  if (timeoutMs !== null && !(timeoutMs >= 1 && timeoutMs <= timeoutMaxMs)) {
    return invalid(
      'x-culvert-timeout-ms',
      `x-culvert-timeout-ms must be a whole number of ms from 1 to ${timeoutMaxMs}.`,
    );
  }
  const noFallback = headers['x-culvert-no-fallback'];
  let session: string | null = null;
  for (const name of sessionHeaders) {
    const value = headers[name];
    if (typeof value !== 'string' || value === '') continue;
    session = headerText(value).slice(0, 256).toWellFormed();
    break;
  }
  const fallback = noFallback === undefined || negations.test(String(noFallback).trim()) ? 'allowed' : 'off';
  return { timeoutMs, fallback, session };
}

/** NaN for other spellings that `Number` accepts: hexadecimal, exponents, blanks. */
function decimal(text: string | string[]): number {
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

/** A form for the deployment that Azure's clients name in the path: it is the model, whatever `model` says. */
function formForDeployment(form: Multipart, deployment: string): Multipart {
  const fields = form.fields.filter(({ name }) => name !== 'model');
  return {
    fields: [...fields, { name: 'model', value: deployment }],
    files: form.files,
    release: () => form.release(),
  };
}
