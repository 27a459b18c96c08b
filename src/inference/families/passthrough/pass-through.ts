import { createHash } from 'node:crypto';
import type { Principal } from '../../../books/auth/principal.ts';
import type { Reservation } from '../../../books/metering/admission.ts';
import { costMilliOf } from '../../../books/metering/settlement.ts';
import { keeping, unknownData } from '../../../config/data-rules.ts';
import type { OutcomeClass } from '../../../formats/neutral/outcome.ts';
import { type Failure, forbidden } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { AttemptRecord } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { UpstreamRequest } from '../../../upstream/transport/upstream-call.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { targetOf } from '../../models/target-of.ts';
import { costHeaders } from '../../spine/answer.ts';
import { newProgress } from '../../spine/held-call.ts';
import type { EndedJob } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { SpineServices } from '../../spine/services.ts';
import { left, type ReadRequest, type WorkEndpoint } from '../../spine/work.ts';
import { answerHeaders, requestHeaders } from './passed-headers.ts';
import { safePath, safeQuery } from './safe-path.ts';
import { SecretFilter } from './secret-filter.ts';

/** One request for a provider as it is. */
export interface PassedRequest {
  method: UpstreamRequest['method'];
  /** The provider's name. */
  provider: string;
  /** Below its base URL, as it was written. */
  path: string;
  /** Without a `?`. */
  search: string;
}

/** Where such a call goes, before its body is read. */
export interface PassedWay {
  kind: 'way';
  method: UpstreamRequest['method'];
  target: Target;
  configured: ConfiguredProvider;
  path: string;
  query: string;
}

/** Its name among the models that a plan or a key allows. */
export function passedModel(provider: string): string {
  return `passthrough/${provider}`;
}

/** A 404 unless the provider is open to such calls, a 403 where this key may not, a 400 for a path that leads out of it. */
export function wayOf(services: SpineServices, principal: Principal, passed: PassedRequest): PassedWay | Failure {
  const { provider } = passed;
  const configured = services.snapshots.current.providers.get(provider);
  if (configured?.config.passthrough !== true) {
    const message = `There is no /passthrough/${provider.slice(0, 100)} here: no provider of this name has 'passthrough: true'.`;
    return { kind: 'not-found', message };
  }
  return wayTo(services, principal, configured, passed);
}

/** The same to a provider that is known to be open to the call. `keeps`: the provider keeps what the request has. */
export function wayTo(
  services: SpineServices,
  principal: Principal,
  configured: ConfiguredProvider,
  { method, provider, path, search, keeps = false }: PassedRequest & { keeps?: boolean },
): PassedWay | Failure {
  const { models } = services.snapshots.current;
  if (!models.allows(passedModel(provider), principal)) {
    const message = `Your plan or key does not allow requests to ${provider} as they are: its models do not name '${passedModel(provider)}'.`;
    return forbidden(message);
  }
  const below = safePath(path);
  if (typeof below !== 'string') return below;
  const target = targetOf(configured, { provider, model: 'passthrough' }, null, null, null);
  const facts = target.data ?? unknownData;
  const barred = models.barred(principal, keeps ? keeping(facts) : facts, `provider '${provider}'`);
  if (barred !== null) return barred;
  return { kind: 'way', method, target, configured, path: below, query: safeQuery(search) };
}

/** How the provider's answer ended. */
export interface PassedEnd {
  class: OutcomeClass;
  status: number | null;
  bytes: number;
  failure: Failure | null;
}

/** A request on its way, with its body. */
export interface PassedOrder {
  way: PassedWay;
  body: UpstreamRequest['body'];
}

/** Its answer streams to the client as it comes. Nothing is asked twice. */
export function passedEndpoint(services: SpineServices): WorkEndpoint<PassedOrder, PassedOrder & ReadRequest> {
  return {
    id: 'passthrough',
    read: (_call, order) => ({ ...order, release() {} }),
    plan({ config }, _call, { way }) {
      const alias = passedModel(way.target.provider);
      return { charge: { endpoint: 'passthrough', alias, tier: null, costMilli: costMilliOf(config.costs, 1) } };
    },
    async work({ call, request: { way, body }, held }) {
      if (held === null) throw new Error('nothing is held for a request that a provider answers');
      const { clock } = services;
      const sentMs = clock.monotonicMs();
      const credential = credentialFor(way, call.principal.tenant);
      const request = upstreamRequest(call, way, credential, body);
      const end = await exchanged(services, call, way, request, held.reserved);
      const times = { startMs: sentMs - call.startedMs, ms: clock.monotonicMs() - sentMs };
      return { ...left, settled: { ...settledAs(end, way, { credential, ...times }), client: call.client } };
    },
  };
}

/** The row of such a request. */
export function settledAs(
  end: PassedEnd,
  { target }: PassedWay,
  attempt: Pick<AttemptRecord, 'credential' | 'startMs' | 'ms'>,
): Omit<EndedJob, 'client'> {
  const record: AttemptRecord = {
    ...attempt,
    target: target.id,
    provider: target.provider,
    model: target.model,
    class: end.class,
    status: end.status,
    firstTokenMs: null,
    bytes: end.bytes,
    usage: null,
    usageSource: 'none',
    costUsd: null,
    message: null,
  };
  const whole = end.class === 'ok';
  const progress: EndedJob['progress'] = {
    ...newProgress(),
    attempts: [record],
    delivered: whole ? 'whole' : end.bytes > 0 && (end.status ?? 500) < 400 ? 'partial' : 'nothing',
    passThrough: true,
    status: end.status ?? 502,
    class: end.failure?.kind ?? (whole ? 'ok' : 'upstream-refused'),
    answeredBy: whole ? { target: { id: target.id, price: null } } : null,
  };
  return { stream: false, progress };
}

/** The same one for every request of a key: what one credential made at a provider, another may not see. */
export function credentialFor({ target }: PassedWay, tenant: string): string {
  const { credentials } = target;
  const place = createHash('sha256').update(tenant).digest().readUInt32BE(0) % credentials.length;
  return credentials[place]!.id;
}

/** The request with the caller's headers and the credential's. */
export function upstreamRequest(
  { callerHeaders }: ModelCall,
  { configured: { connection }, method, target, path, query }: PassedWay,
  credential: string,
  body: UpstreamRequest['body'],
): UpstreamRequest {
  const headers = knownEntry(connection.credentials, credential);
  const { connectMs, totalMs } = target.timeouts;
  return {
    origin: connection.origin,
    route: connection.route,
    path: connection.basePath + path + (query === '' ? '' : `?${query}`),
    method,
    headers: requestHeaders(callerHeaders, headers),
    authorize: headers.authorize,
    body,
    connectTimeoutMs: connectMs,
    headersTimeoutMs: totalMs,
    bodyTimeoutMs: totalMs,
  };
}

/** Streams the provider's answer to the client. Never rejects. */
export function exchanged(
  { transport }: SpineServices,
  { delivery: client, stepHeaders = () => [] }: ModelCall,
  { configured: { connection }, target: { provider } }: PassedWay,
  request: UpstreamRequest,
  reserved: Reservation,
): Promise<PassedEnd> {
  return new Promise((resolve) => {
    const filter = new SecretFilter(connection.secrets);
    let status: number | null = null;
    let bytes = 0;
    const ends = (end: OutcomeClass, failure: Failure | null = null) => resolve({ class: end, status, bytes, failure });
    const running = transport.send(request, {
      headers(code, head) {
        status = code;
        const limits = code < 400 ? costHeaders(reserved) : reserved.headers;
        const ourHeaders = [...limits, 'x-culvert-provider', provider];
        client.start('bytes', [...answerHeaders(head, connection.secrets), ...ourHeaders, ...stepHeaders()], code);
      },
      data(chunk) {
        bytes += chunk.length;
        const clean = filter.push(chunk);
        if (clean.length > 0 && client.chunk(clean) === 'behind') running.pause();
      },
      ended() {
        const rest = filter.end();
        if (rest.length > 0) client.chunk(rest);
        client.end(null);
        ends(status! < 400 ? 'ok' : 'caller_fault');
      },
      failed({ message }) {
        const attempts = [{ provider, reason: message }];
        const failure: Failure = { kind: 'upstreams-failed', model: passedModel(provider), attempts };
        client.end({ failure, headers: [...reserved.headers, ...stepHeaders()] });
        ends(status === null ? 'unreachable' : 'truncated', failure);
      },
    });
    const leave = () => {
      running.abort();
      ends('cancelled');
    };
    client.onDrain(() => running.resume());
    client.onDisconnect(leave);
    if (client.disconnected) leave();
  });
}
