import { costMilliOf } from '../../../books/metering/settlement.ts';
import { type Failure, FailureError } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, listIn, parsedJson } from '../../../kernel/json.ts';
import type { UpstreamRequest } from '../../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../../upstream/transport/whole-answer.ts';
import { uploadFile } from '../../batches/upstream/file-batches.ts';
import { UpstreamTrouble, upstreamClient } from '../../batches/upstream/upstream-client.ts';
import {
  type Done,
  leavingOf,
  left,
  type ReadRequest,
  type RunningWork,
  type WorkEndpoint,
  type WorkPlan,
} from '../../spine/work.ts';
import { exchanged, type PassedEnd, passedModel, settledAs, upstreamRequest } from '../passthrough/pass-through.ts';
import { SecretFilter } from '../passthrough/secret-filter.ts';
import { namedIn, type ObjectBody, readsOthers, sentBody } from './named-in-body.ts';
import { pageOfTenant } from './object-list.ts';
import { type ObjectAsk, type ObjectPlace, placeOf } from './object-place.ts';
import type { ObjectServices } from './services.ts';

/** A request for objects at a provider. */
export interface ObjectInput extends Omit<ObjectAsk, 'named'> {
  /** The object in its path; null: it names none. */
  id: string | null;
  body: ObjectBody | null;
}

interface ReadInput extends ReadRequest {
  input: ObjectInput;
  place: ObjectPlace;
}

type Work = RunningWork<ReadInput, WorkPlan>;

const answerBytesMax = 16 * 1024 * 1024;
const connectTimeoutMs = 10_000;

/**
 * Calls of the APIs whose objects stay at a provider. Whose each object is, is looked up before, and remembered of each
 * answer. Nothing is asked twice.
 */
export function objectsEndpoint(services: ObjectServices): WorkEndpoint<ObjectInput, ReadInput> {
  return {
    id: 'provider-objects',
    async read({ principal }, input) {
      const { id, body, search, operation } = input;
      const others = body !== null && 'json' in body ? readsOthers(body.json) : null;
      if (others !== null) return others;
      const after = operation.answers === 'list' ? new URLSearchParams(search).get('after') : null;
      const named = [
        ...(id === null ? [] : [{ id, field: 'id', use: 'reference' as const }]),
        ...(after === null ? [] : [{ id: after, field: 'after', use: 'reference' as const }]),
        ...(body === null ? [] : namedIn(body)),
      ];
      await services.objects.ready();
      const place = await placeOf(services, principal, { ...input, named });
      if (place.kind !== 'place') return place;
      return { input, place, release() {} };
    },
    plan: ({ config }, _call, { input, place }) => planOf(config.costs, input, place),
    work: (work) => workOf(services, work),
  };
}

/** Only what makes or changes something costs a unit, as with batches. */
function planOf(costs: Parameters<typeof costMilliOf>[0], { operation }: ObjectInput, { way }: ObjectPlace): WorkPlan {
  const costMilli = operation.method === 'POST' ? costMilliOf(costs, 1) : 0;
  return { charge: { endpoint: 'provider-objects', alias: passedModel(way.target.provider), tier: null, costMilli } };
}

async function workOf(services: ObjectServices, work: Work): Promise<Done> {
  const {
    call,
    held,
    request: {
      input: { operation, body },
      place: { way, credential },
    },
  } = work;
  if (held === null) throw new Error('nothing is held for a request that a provider answers');
  const { clock } = services;
  const sentMs = clock.monotonicMs();
  const settled = (end: PassedEnd) => {
    const times = { credential, startMs: sentMs - call.startedMs, ms: clock.monotonicMs() - sentMs };
    return { ...settledAs(end, way, times), client: call.client };
  };
  try {
    const { sent, contentType } = body === null ? nothing : sentBody(body, await uploaded(services, work));
    const request = typed(upstreamRequest(call, way, credential, bytesOf(sent)), contentType);
    if (operation.answers === 'part') {
      const end = await exchanged(services, call, way, request, held.reserved);
      forgetDeleted(services, work, end);
      return { ...left, settled: settled(end) };
    }
    const { status, body: answer } =
      operation.answers === 'list' ? await listed(services, work, request) : await object(services, work, request);
    const bytes = Buffer.byteLength(answer);
    const end: PassedEnd = { class: status < 400 ? 'ok' : 'caller_fault', status, bytes, failure: null };
    return { body: answer, failure: null, status, settled: settled(end), ...(status >= 400 && { doneMilli: 0 }) };
  } catch (error) {
    if (call.client.disconnected) {
      return { ...left, settled: settled({ class: 'cancelled', status: null, bytes: 0, failure: null }) };
    }
    const failure = failureOf(error, way.target.provider);
    return { body: null, failure, settled: settled({ class: 'unreachable', status: null, bytes: 0, failure }) };
  }
}

const nothing = { sent: null, contentType: null } as const;

function bytesOf(sent: ReturnType<typeof sentBody>['sent'] | null): UpstreamRequest['body'] {
  return typeof sent === 'string' ? Buffer.from(sent) : sent;
}

function typed(request: UpstreamRequest, contentType: string | null): UpstreamRequest {
  const headers = [...request.headers];
  const at = headers.findIndex((name, place) => place % 2 === 0 && name === 'content-type');
  if (at !== -1) headers.splice(at, 2);
  return { ...request, headers: contentType === null ? headers : [...headers, 'content-type', contentType] };
}

/** Ids at the provider of the caller's files that it does not have yet: they are uploaded there, and are the caller's. */
async function uploaded(services: ObjectServices, { call, request: { input, place } }: Work) {
  const ids = new Map<string, string>();
  if (place.uploads.size === 0) return ids;
  const { connection } = place.way.configured;
  const client = upstreamClient(services.transport, connection, place.credential);
  if (client === null) throw new FailureError({ kind: 'internal' });
  for (const [id, { name, bytes, read }] of place.uploads) {
    const plainName = name.replace(/[^\w.-]/g, '_').replace(/\.jsonl$/, '');
    const there = await uploadFile(
      client,
      plainName,
      { bytes, open: read },
      purposes[input.operation.api] ?? 'user_data',
    );
    give(services, call.principal.tenant, place, [there]);
    ids.set(id, there);
  }
  return ids;
}

const purposes: Readonly<Record<string, string>> = { fine_tuning: 'fine-tune', evals: 'evals' };

function give(
  { objects }: ObjectServices,
  tenant: string,
  { way: { target }, credential }: ObjectPlace,
  ids: string[],
) {
  const lane = target.credentials.find(({ id }) => id === credential);
  if (lane !== undefined) objects.give(tenant, { target, credential: lane }, ids);
}

/** One of the caller's objects, with the ids in it that are theirs from now on. */
async function object(services: ObjectServices, { call, request: { place } }: Work, request: UpstreamRequest) {
  const { tenant } = call.principal;
  const { status, bytes, json } = await whole(services, call.client, place, request);
  if (status < 300 && isObject(json)) {
    const ids = idsIn(json);
    give(services, tenant, place, ids);
    await services.objects.recorded(tenant, ids);
  }
  return { status, body: bytes };
}

/** A fine-tuned model and files of results are named by further requests. */
function idsIn({ id, fine_tuned_model: model, result_files: files }: JsonObject): string[] {
  return [id, model, ...listIn(files)].filter((one) => typeof one === 'string' && one !== '') as string[];
}

/** Forgets the object in the path where it was deleted, or was gone already; not where a part of it was. */
function forgetDeleted({ objects }: ObjectServices, { call, request }: Work, { status }: PassedEnd): void {
  const { operation, id, path } = request.input;
  const { way, credential } = request.place;
  if (operation.method !== 'DELETE' || id === null || path.split('/').at(-1) !== id) return;
  const lane = way.target.credentials.find((one) => one.id === credential);
  if (lane === undefined || status === null || (status >= 300 && status !== 404)) return;
  objects.forget(call.principal.tenant, { target: way.target, credential: lane }, id);
}

function listed(services: ObjectServices, { call, request: { place } }: Work, request: UpstreamRequest) {
  const [path = ''] = request.path.split('?', 1);
  const ask = (query: string) => whole(services, call.client, place, { ...request, path: `${path}?${query}` });
  return pageOfTenant(place.way.query, ask, (ids) => services.objects.givenTo(call.principal.tenant, ids));
}

/** An answer of the provider without its secrets. Rejects with `NoAnswer`. */
async function whole(
  { transport }: ObjectServices,
  client: Work['call']['client'],
  { way: { configured, target } }: ObjectPlace,
  request: UpstreamRequest,
) {
  const deadline = AbortSignal.any([AbortSignal.timeout(target.timeouts.totalMs), leavingOf(client)]);
  const bounds = { connectTimeoutMs, bytesMax: answerBytesMax, deadline };
  const { status, bytes } = await wholeAnswer(transport, request, bounds);
  const filter = new SecretFilter(configured.connection.secrets);
  const clean = Buffer.concat([filter.push(bytes), filter.end()]);
  return { status, bytes: clean, json: parsedJson(clean.toString('utf8')) };
}

function failureOf(error: unknown, provider: string): Failure {
  if (error instanceof FailureError) return error.failure;
  if (error instanceof NoAnswer || error instanceof UpstreamTrouble) {
    return { kind: 'upstreams-failed', model: passedModel(provider), attempts: [{ provider, reason: error.message }] };
  }
  throw error;
}
