import { createHash } from 'node:crypto';
import type { Failure } from '../../kernel/failure.ts';
import type { Reservation } from '../../metering/admission.ts';
import { costMilliOf } from '../../metering/quota.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import { targetOf } from '../models/target-of.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import type { Target } from '../routing/target.ts';
import { costHeaders } from '../spine/answer.ts';
import { type ChargedCall, holdCall } from '../spine/held-call.ts';
import { newProgress } from '../spine/job.ts';
import type { SpineServices } from '../spine/services.ts';
import { type Delivery, refuse } from '../spine/sink.ts';
import type { UpstreamRequest } from '../transport/upstream-call.ts';
import { answerHeaders, requestHeaders } from './passed-headers.ts';
import { safePath, safeQuery } from './safe-path.ts';
import { SecretFilter } from './secret-filter.ts';

/** One request for a provider as it is, its caller known and admitted. */
export interface PassedCall extends ChargedCall {
  client: Delivery;
  method: UpstreamRequest['method'];
  /** The provider's name. */
  provider: string;
  /** Below its base URL, as it was written. */
  path: string;
  /** Without a `?`. */
  search: string;
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
}

/** Where such a call goes, before its body is read. */
export interface PassedWay {
  kind: 'way';
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
export function wayOf(services: SpineServices, { provider, path, search, principal }: PassedCall): PassedWay | Failure {
  const { providers, models } = services.snapshot();
  const configured = providers.get(provider);
  if (configured?.config.passthrough !== true) {
    const message = `There is no /passthrough/${provider.slice(0, 100)} here: no provider of this name has 'passthrough: true'.`;
    return { kind: 'not-found', message };
  }
  if (!models.allows(passedModel(provider), principal)) {
    const message = `Your plan or key does not allow requests to ${provider} as they are: its models do not name '${passedModel(provider)}'.`;
    return { kind: 'forbidden', message };
  }
  const below = safePath(path);
  if (typeof below !== 'string') return below;
  const target = targetOf(configured, { provider, model: 'passthrough' }, null, null, null);
  return { kind: 'way', target, configured, path: below, query: safeQuery(search) };
}

interface PassedEnd {
  class: OutcomeClass;
  status: number | null;
  bytes: number;
  failure: Failure | null;
}

/** Reserve → send → settle: the answer streams to the client as it comes. Nothing is asked twice. */
export async function passThrough(
  services: SpineServices,
  call: PassedCall,
  way: PassedWay,
  body: UpstreamRequest['body'],
): Promise<void> {
  const { client, admitted, principal, startedMs } = call;
  const held = await holdCall(services, call, {
    endpoint: 'passthrough',
    alias: passedModel(call.provider),
    tier: null,
    costMilli: costMilliOf(services.snapshot().config.costs, 1),
  });
  if (held.kind !== 'held') return refuse(client, held, admitted.headers);
  const { clock } = services;
  const sentMs = clock.monotonicMs();
  const credential = credentialFor(way, principal.tenant);
  let end: PassedEnd = { class: 'gateway_fault', status: null, bytes: 0, failure: { kind: 'internal' } };
  try {
    end = await exchanged(services, call, way, upstreamRequest(call, way, credential, body), held.reserved);
  } finally {
    const progress = newProgress();
    const { target } = way;
    progress.attempts.push({
      target: target.id,
      provider: target.provider,
      model: target.model,
      credential,
      class: end.class,
      status: end.status,
      startMs: sentMs - startedMs,
      ms: clock.monotonicMs() - sentMs,
      firstTokenMs: null,
      bytes: end.bytes,
      usage: null,
      usageSource: 'none',
      costUsd: null,
      message: null,
    });
    progress.delivered =
      end.class === 'ok' ? 'whole' : end.bytes > 0 && (end.status ?? 500) < 400 ? 'partial' : 'nothing';
    progress.passThrough = true;
    progress.status = end.status ?? 502;
    progress.class = end.failure?.kind ?? (end.class === 'ok' ? 'ok' : 'upstream-refused');
    const answered = end.class === 'ok' ? { target: { id: target.id, price: null } } : null;
    const ended = { user: null, stream: false, progress: { ...progress, answeredBy: answered }, client };
    held.settle(ended);
  }
}

/** The same one for every request of a key: what one credential made at a provider, another may not see. */
function credentialFor({ target }: PassedWay, tenant: string): string {
  const { credentials } = target;
  const place = createHash('sha256').update(tenant).digest().readUInt32BE(0) % credentials.length;
  return credentials[place]!.id;
}

function upstreamRequest(
  { method, callerHeaders }: PassedCall,
  { configured: { connection }, target, path, query }: PassedWay,
  credential: string,
  body: UpstreamRequest['body'],
): UpstreamRequest {
  const headers = connection.credentials.get(credential)!;
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

function exchanged(
  { transport }: SpineServices,
  { client, provider }: PassedCall,
  { configured: { connection } }: PassedWay,
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
        client.start('bytes', [...answerHeaders(head, connection.secrets), ...ourHeaders], code);
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
        client.end({ failure, headers: reserved.headers });
        ends(status === null ? 'unreachable' : 'truncated', failure);
      },
    });
    const leave = () => {
      running.abort();
      ends('cancelled');
    };
    client.onDrain(() => running.resume());
    client.onGone(leave);
    if (client.gone) leave();
  });
}
