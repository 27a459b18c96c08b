import type { VideoFacts, VideoOperation } from '../../../formats/media/videos/format.ts';
import { readVeoOperation, type VeoVideo } from '../../../formats/media/videos/veo.ts';
import type { CredentialHeaders } from '../../../formats/providers/credential-headers.ts';
import { encodeGet, type UpstreamAddress } from '../../../formats/providers/encode.ts';
import type { ProviderConnection } from '../../../formats/providers/provider-connection.ts';
import { scrubMembers } from '../../../formats/providers/scrub-members.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, objectsIn, parsedJson, stringOr } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { type WholeRequest, wholeAnswer } from '../../../upstream/transport/whole-answer.ts';
import { type VideoServices, videoNotFound } from './services.ts';

/** Where a video is made. */
export interface VideoHome {
  connection: ProviderConnection;
  facts: VideoFacts;
  /** `provider/model`. */
  target: string;
  /** Its id, and the headers that prove it. */
  credential: string;
  headers: CredentialHeaders;
}

/** The content of a video: an address at its provider, or its bytes. */
export type VideoContent =
  | { kind: 'upstream'; address: UpstreamAddress }
  | { kind: 'bytes'; bytes: Buffer; type: string };

type Asking = Pick<VideoServices, 'objects' | 'snapshots' | 'transport' | 'videoSealer' | 'giveBack'>;

const timeoutMs = 60_000;
/** All pages of a list; the lists of others wait for it. */
const listTimeoutMs = 10_000;
const connectTimeoutMs = 3_000;
/** Vertex puts a clip into its answer, in base64. */
const answerBytesMax = 128 * 1024 * 1024;

const idPrefix = 'video_cv_';

/** The id of a job that has none at its provider: what is needed to ask for it, for its tenant alone. */
export function sealedVideoId({ videoSealer }: Asking, tenant: string, operation: VideoOperation): string {
  return idPrefix + videoSealer.seal(Buffer.from(JSON.stringify(operation)), tenant).toString('base64url');
}

function operationOf({ videoSealer }: Asking, tenant: string, id: string): VideoOperation | Failure {
  const sealed = id.startsWith(idPrefix) ? Buffer.from(id.slice(idPrefix.length), 'base64url') : Buffer.alloc(0);
  const plain = videoSealer.open(sealed, tenant);
  return plain === null ? videoNotFound(id) : (JSON.parse(plain.toString('utf8')) as VideoOperation);
}

/** Home of a video; a 404 for an id that the tenant was never given. */
export async function videoHome(
  { objects, snapshots }: Asking,
  tenant: string,
  id: string,
): Promise<VideoHome | Failure> {
  const home = await objects.homeOf(tenant, id);
  const connection = [...snapshots.current.providers.values()].find(
    (one) => home !== null && one.connection.credentials.has(home.credential),
  )?.connection;
  if (home === null || connection === undefined || connection.videos === null) return videoNotFound(id);
  return {
    connection,
    facts: connection.videos,
    ...home,
    headers: knownEntry(connection.credentials, home.credential),
  };
}

/** A video's job as its provider tells it, in OpenAI's form. */
export async function videoAt(asking: Asking, tenant: string, id: string): Promise<{ job: JsonObject } | Failure> {
  const home = await videoHome(asking, tenant, id);
  if (isFailure(home)) return home;
  if (home.facts.format !== 'openai') return operationAt(asking, home, tenant, id);
  const answer = await ask(asking, home, { method: 'GET', path: jobPath(home, id) }, id);
  if (isFailure(answer)) return answer;
  await givenBackIfFailed(asking, tenant, [answer.json]);
  return { job: shownJob(answer.json, home.connection) };
}

/** Why a video failed, in words that callers may see. */
function shownJob(job: JsonObject, connection: ProviderConnection): JsonObject {
  return isObject(job.error) ? { ...job, error: scrubMembers(job.error, connection) } : job;
}

/** A video that failed after its request had been charged costs nothing. */
async function givenBackIfFailed({ giveBack }: Asking, tenant: string, jobs: readonly JsonObject[]): Promise<void> {
  for (const { id, status } of jobs) if (status === 'failed') await giveBack.failed(tenant, String(id));
}

/**
 * Removes a video at its provider, and resolves to the provider's answer; a 400 where that cannot. It is looked at
 * before: nobody can see afterwards that it had failed.
 */
export async function deleteVideo(asking: Asking, tenant: string, id: string): Promise<{ json: JsonObject } | Failure> {
  const home = await videoHome(asking, tenant, id);
  if (isFailure(home)) return home;
  if (home.facts.format === 'openai') {
    const path = jobPath(home, id);
    const seen = await ask(asking, home, { method: 'GET', path }, id);
    if (isFailure(seen)) return seen;
    await givenBackIfFailed(asking, tenant, [seen.json]);
    const deleted = await ask(asking, home, { method: 'DELETE', path }, id);
    if (isFailure(deleted)) return deleted;
    asking.objects.forget(tenant, { target: { id: home.target }, credential: { id: home.credential } }, id);
    return deleted;
  }
  const message = `${home.connection.name} cannot delete videos; Google removes them on its side.`;
  return invalid('video_id', message);
}

/** Where a finished video's bytes are; a 400 while it is not finished. `search`: the caller's query. */
export async function videoContent(
  asking: Asking,
  tenant: string,
  id: string,
  search: URLSearchParams,
): Promise<VideoContent | Failure> {
  const home = await videoHome(asking, tenant, id);
  if (isFailure(home)) return home;
  const variant = search.get('variant');
  if (variant !== null && !['video', 'thumbnail', 'spritesheet'].includes(variant)) {
    return invalid('variant', "'variant' is 'video', 'thumbnail' or 'spritesheet'.");
  }
  if (home.facts.format === 'openai') {
    const path = jobPath(home, id, `/content${variant === null ? '' : `?variant=${variant}`}`);
    return { kind: 'upstream', address: encodeGet(home.connection, path, home.headers) };
  }
  if (variant !== null && variant !== 'video') {
    return invalid('variant', `${home.connection.name} has no ${variant} of a video.`);
  }
  const operation = await operationAt(asking, home, tenant, id);
  if (isFailure(operation)) return operation;
  const { job, video } = operation;
  if (video === null) {
    const why = job.status === 'failed' ? 'It failed.' : `It is not finished: its status is ${String(job.status)}.`;
    return invalid('video_id', `The video has no content. ${why}`);
  }
  return contentAt(video, home);
}

function contentAt(video: VeoVideo, { connection, headers }: VideoHome): VideoContent | Failure {
  if ('base64' in video) return { kind: 'bytes', bytes: Buffer.from(video.base64, 'base64'), type: video.mediaType };
  if ('bucket' in video) {
    const message = `The video is in the operator's bucket: ${connection.name} has the setting to keep it there.`;
    return invalid('video_id', message);
  }
  const url = URL.parse(video.uri);
  // The credential goes to its own service alone.
  if (url?.origin !== connection.origin) {
    const message = `${connection.name} answered with a link that leads elsewhere.`;
    return { kind: 'overloaded', message };
  }
  const address = encodeGet(connection, url.pathname + url.search, headers);
  return { kind: 'upstream', address: { ...address, origin: connection.origin } };
}

async function operationAt(
  asking: Asking,
  home: VideoHome,
  tenant: string,
  id: string,
): Promise<{ job: JsonObject; video: VeoVideo | null } | Failure> {
  const operation = operationOf(asking, tenant, id);
  if (isFailure(operation)) return operation;
  const { path, body } = home.facts.operation!(operation.model, operation.name);
  const below = home.connection.basePath + path;
  const request =
    body === null
      ? ({ method: 'GET', path: below } as const)
      : ({ method: 'POST', path: below, body: JSON.stringify(body) } as const);
  const answer = await ask(asking, home, request, id);
  if (isFailure(answer)) return answer;
  const read = readVeoOperation(answer.json, id, operation);
  await givenBackIfFailed(asking, tenant, [read.job]);
  return { ...read, job: shownJob(read.job, home.connection) };
}

/** Pages of a provider's list that are looked through for a caller's own videos, and how long one is. */
const pagesMax = 5;
const pageRows = 100;

/** A provider that has a list of videos, and did not give it. */
export interface Unlisted {
  provider: string;
  message: string;
}

/**
 * The tenant's videos at every provider that lists any, the newest first, and who gave no list; a 400 where none has
 * one, a 503 where none gave it.
 */
export async function tenantVideos(
  asking: Asking,
  tenant: string,
): Promise<{ videos: JsonObject[]; unlisted: readonly Unlisted[] } | Failure> {
  const providers = [...asking.snapshots.current.providers.values()];
  const homes = providers.flatMap(({ connection }) =>
    connection.videos?.format !== 'openai'
      ? []
      : [...connection.credentials].map(([credential, headers]) => ({ connection, credential, headers })),
  );
  const google = providers.find(({ connection }) => connection.videos?.format === 'veo');
  if (homes.length === 0 && google !== undefined) {
    const message = `${google.connection.name} keeps no list of videos. Keep the ids that POST /v1/videos gives you.`;
    return invalid(null, message);
  }
  const found = await Promise.all(
    homes.map(({ connection, credential, headers }) =>
      listedVideos(asking, { connection, facts: connection.videos!, target: '', credential, headers }),
    ),
  );
  const lists = found.filter((one) => Array.isArray(one));
  const unlisted = found.flatMap((one) => (Array.isArray(one) ? [] : [one]));
  if (lists.length === 0 && unlisted[0] !== undefined) return { kind: 'overloaded', message: unlisted[0].message };
  // Keys of one project, and providers that share a key, list the same videos.
  const all = [...new Map(lists.flat().map((video) => [video.id, video])).values()];
  const given = await asking.objects.givenTo(
    tenant,
    all.map(({ id }) => String(id)),
  );
  const shown = all.filter(({ id }) => given.has(String(id)));
  await givenBackIfFailed(asking, tenant, shown);
  return {
    videos: shown.toSorted((a, b) => Number(b.created_at) - Number(a.created_at)),
    unlisted: [...new Map(unlisted.map((one) => [one.provider, one])).values()],
  };
}

/** The videos that one credential made; none where its provider has no such list for it. */
async function listedVideos(asking: Asking, home: VideoHome): Promise<JsonObject[] | Unlisted> {
  const { name } = home.connection;
  const without = (how: string) => ({
    provider: name,
    message: `${name} did not list its videos: it ${how}. Retry it.`,
  });
  const rows: JsonObject[] = [];
  const deadline = AbortSignal.timeout(listTimeoutMs);
  for (let page = 0; page < pagesMax; page++) {
    const last = rows.at(-1)?.id;
    const after = last === undefined ? '' : `&after=${encodeURIComponent(String(last))}`;
    const path = listPath(home, `limit=${pageRows}${after}`);
    const answered = await tried(asking, home, { method: 'GET', path }, deadline);
    if (answered === null) return without('did not answer');
    const { status, json } = answered;
    if (mayAnswerLater(status)) return without(`answered ${status}`);
    const list = status === 200 && isObject(json) ? json : {};
    const data = objectsIn(list.data);
    rows.push(...data.map((job) => shownJob(job, home.connection)));
    if (list.has_more !== true || data.length === 0) break;
  }
  return rows;
}

function jobPath(home: VideoHome, id: string, rest = ''): string {
  const [path, query] = pathOf(home);
  const [below, parameters] = rest.split('?');
  const search = [query, parameters].filter((part) => part !== undefined).join('&');
  return `${path}/${encodeURIComponent(id)}${below}${search === '' ? '' : `?${search}`}`;
}

function listPath(home: VideoHome, parameters: string): string {
  const [path, query] = pathOf(home);
  return `${path}?${[query, parameters].filter((part) => part !== undefined).join('&')}`;
}

function pathOf({ connection, facts }: VideoHome): [path: string, query: string | undefined] {
  const [path = '', query] = (connection.basePath + facts.pathOf('', { apiVersion: connection.apiVersion })).split('?');
  return [path, query];
}

/** A JSON answer of a video's home; a 404, the refusal of the provider, or a 503 when it does not answer. */
async function ask(
  asking: Asking,
  home: VideoHome,
  request: HomeRequest,
  id: string,
): Promise<{ json: JsonObject } | Failure> {
  const answered = await tried(asking, home, request, AbortSignal.timeout(timeoutMs));
  if (answered === null) return unanswered(home.connection, 'did not answer');
  const { status, json } = answered;
  if (status >= 200 && status <= 299 && isObject(json)) return { json };
  if (status === 404) return videoNotFound(id);
  return refusalOf(home.connection, status, json) ?? unanswered(home.connection, `answered ${status}`);
}

/** Statuses of a provider that may answer the same request later. */
function mayAnswerLater(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Refusal of what the caller wants of a video, such as to delete one that is being made. Null: it is no such refusal. */
function refusalOf(connection: ProviderConnection, status: number, json: unknown): Failure | null {
  const isOfOperator = status === 401 || status === 402 || status === 403;
  if (status < 400 || isOfOperator || mayAnswerLater(status)) return null;
  const error = isObject(json) && isObject(json.error) ? scrubMembers(json.error, connection) : {};
  const message = `${connection.name} refused it (${status}): ${stringOr(error.message, 'without a reason')}`;
  return { kind: 'upstream-refused', status, message, provider: connection.name, param: null };
}

/** `path`: from the origin. */
type HomeRequest = Pick<WholeRequest, 'method' | 'path'> & { body?: string };

/** Answer of a video's home, whatever its status; null when none came. */
async function tried(
  { transport }: Asking,
  { connection, headers }: VideoHome,
  { method, path, body }: HomeRequest,
  deadline: AbortSignal,
): Promise<{ status: number; json: unknown } | null> {
  const { route, authorize } = encodeGet(connection, path, headers);
  const sent = body === undefined ? headers.get : headers.whole;
  const request = { origin: connection.origin, route, authorize, method, path, body: body ?? null, headers: sent };
  const bounds = { connectTimeoutMs, bytesMax: answerBytesMax, deadline };
  const answered = await wholeAnswer(transport, request, bounds).catch(() => null);
  return answered && { status: answered.status, json: parsedJson(answered.bytes.toString('utf8')) };
}

function unanswered({ name }: ProviderConnection, how: string): Failure {
  return { kind: 'overloaded', message: `${name}, which has this video, ${how}. Retry it.` };
}
