import { callerIdOf } from '../../../books/auth/principal.ts';
import type { UploadTickets } from '../../../books/auth/upload-tickets.ts';
import { gemini } from '../../../formats/dialects/gemini/index.ts';
import type { ResumableFiles, UnfinishedFile } from '../../../inference/batches/resumable-files.ts';
import { type StoredFile, shownPurposes } from '../../../inference/batches/stored-files.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { parseObject } from '../../../kernel/parse-object.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../../exchange.ts';
import { bodyPieces } from '../../json-pieces.ts';
import { hasBody, readJsonBody } from '../../read-body.ts';
import { withHold } from '../../with-hold.ts';
import { writeJson } from '../../write-json.ts';
import { type FilesParts, fileBytesMax, fileNameCharsMax, fileOf, removeFile, sendFile } from '../files/file-calls.ts';
import { held } from '../files/message-batches.ts';
import { keyRoute } from '../key-route.ts';
import { wholeOf } from '../list-page.ts';
import { type StoredCall, type StoredPlace, storedRoute } from '../stored-route.ts';
import { fileIdOf, fileNameOf, googleVersions, linkOf, pageTokenIn } from './resource-names.ts';
import { sendVideoFile, shownVideo, videoOfFile } from './videos.ts';

const place: StoredPlace = { endpoint: 'files', dialect: gemini };

/** Google's Files API (`client.files`): the same files as OpenAI's and Anthropic's. */
export function googleFilesRoutes(parts: UploadParts): Route[] {
  return googleVersions.flatMap((version) => {
    const path = `/${version}/files`;
    const route = (method: 'GET' | 'DELETE', at: string, summary: string, answer: Answer) =>
      storedRoute(method, at, summary, (call) => answer(parts, call), {}, place);
    return [
      fileUploadRoute(parts, version, shownFile),
      route('GET', path, "The files of this key, in Google's format", listed),
      route('GET', `${path}/:id`, "A file, or with ':download' its content, in Google's format", shown),
      route('DELETE', `${path}/:id`, "Delete a file, in Google's format", removed),
    ];
  });
}

type Answer = (parts: UploadParts, call: StoredCall) => Promise<JsonObject | Failure | null>;

async function listed(parts: UploadParts, { tenant, query, exchange }: StoredCall): Promise<JsonObject | Failure> {
  const size = wholeOf(query, 'pageSize', 100) ?? 10;
  if (isFailure(size)) return size;
  const after = pageTokenIn(query, '');
  if (isFailure(after)) return after;
  const found = await (await parts.files()).list({
    tenant,
    order: 'desc',
    after: after === null ? null : fileIdOf(after),
    limit: size + 1,
    purposes: shownPurposes,
  });
  const files = found.slice(0, size);
  const last = files.at(-1);
  const link = linkOf(parts, exchange);
  return {
    files: files.map((file) => shownFile(file, link)),
    ...(found.length > size && last !== undefined && { nextPageToken: fileNameOf(last.id) }),
  };
}

async function shown(
  parts: UploadParts,
  { tenant, params, exchange }: StoredCall,
): Promise<JsonObject | Failure | null> {
  const [, name = '', isContent] = /^(.*?)(:download)?$/s.exec(params.id ?? '') ?? [];
  const video = videoOfFile(name);
  if (video !== null && isContent === undefined) {
    return shownVideo(parts.services, tenant, video, linkOf(parts, exchange));
  }
  if (video !== null) return sendVideoFile(parts.services, exchange, video);
  const file = await found(parts, tenant, name);
  if (isFailure(file)) return file;
  if (isContent === undefined) return shownFile(file, linkOf(parts, exchange));
  await sendFile(exchange, await parts.files(), file);
  return null;
}

async function removed(parts: UploadParts, { tenant, params, exchange }: StoredCall): Promise<JsonObject | Failure> {
  const file = await found(parts, tenant, params.id ?? '');
  if (isFailure(file)) return file;
  await removeFile(parts, exchange, file.id);
  return {};
}

async function found(parts: FilesParts, tenant: string, name: string): Promise<StoredFile | Failure> {
  const file = await fileOf(parts, tenant, fileIdOf(name));
  return isFailure(file) ? noFile(name) : file;
}

function noFile(name: string): Failure {
  const message = `There is no file 'files/${name.slice(0, 80)}'. It may have expired, or belong to another key.`;
  return { kind: 'not-found', param: 'name', message };
}

function shownFile({ id, name, mediaType, bytes, createdMs, expiresMs }: StoredFile, link: string): JsonObject {
  const uri = `${link}/v1beta/files/${fileNameOf(id)}`;
  const createTime = new Date(createdMs).toISOString();
  return {
    name: `files/${fileNameOf(id)}`,
    displayName: name,
    mimeType: mediaType ?? 'application/octet-stream',
    sizeBytes: String(bytes),
    createTime,
    updateTime: createTime,
    expirationTime: new Date(expiresMs).toISOString(),
    uri,
    downloadUri: `${uri}:download?alt=media`,
    state: 'ACTIVE',
    source: 'UPLOADED',
  };
}

interface UploadParts extends FilesParts {
  resumable(): Promise<ResumableFiles>;
  tickets: UploadTickets;
}

type Shown = (file: StoredFile, link: string) => JsonObject;

/**
 * Google's uploads: `start` gives an address, to which pieces go with `upload`, the last with `upload, finalize`.
 * `query` says how much is kept, so that an upload that broke off goes on there, and `cancel` drops it.
 */
function fileUploadRoute(parts: UploadParts, version: string, shown: Shown): Route {
  const path = `/upload/${version}/files`;
  return keyRoute(`POST ${path}`, 'one', {
    summary: "Upload a file in pieces, by Google's resumable protocol",
    lets: parts.tickets.principal,
    endpoint: 'files',
    dialect: gemini,
    body: { schema: uploadSchema },
    async handle(exchange) {
      const headers = exchange.admitted?.headers ?? [];
      try {
        const done = await runCommands(parts, exchange, path, shown);
        if (isFailure(done)) return refuse(exchange.client, done, headers);
        const { status, body = {}, more = [] } = done;
        writeJson(exchange, 200, body, [...headers, 'x-goog-upload-status', status, ...more]);
      } catch (error) {
        refuse(exchange.client, failureIn(error), headers);
      }
    },
  });
}

/** Answer to the commands of a request. */
interface CommandAnswer {
  status: 'active' | 'final' | 'cancelled';
  /** Default: an empty object. */
  body?: JsonObject;
  /** Further headers: flat name, value… */
  more?: string[];
}

/** Does what the commands of a request name. Rejects with a FailureError where its bytes cannot be taken. */
async function runCommands(
  parts: UploadParts,
  exchange: Exchange,
  path: string,
  shown: Shown,
): Promise<CommandAnswer | Failure> {
  const protocol = headerOf(exchange, 'x-goog-upload-protocol');
  const commands = (headerOf(exchange, 'x-goog-upload-command') ?? '').split(',').map((one) => one.trim());
  const uploadId = new URLSearchParams(exchange.search).get('upload_id');
  if (uploadId === null) {
    if (protocol !== 'resumable' || commands[0] !== 'start') return wrongProtocol();
    const begun = await begin(parts, exchange);
    if (isFailure(begun)) return begun;
    const { id } = begun;
    const ticket = parts.tickets.issue(callerIdOf(callerOf(exchange)), id);
    const declared = headerOf(exchange, 'x-goog-upload-header-content-length');
    const size = /^\d{1,15}$/.test(declared ?? '') ? `&upload_size=${declared}` : '';
    const url = `${linkOf(parts, exchange)}${path}?upload_id=${id}&upload_protocol=resumable&upload_ticket=${ticket}${size}`;
    const more = ['x-goog-upload-url', url, 'x-goog-upload-control-url', url];
    return { status: 'active', more: [...more, 'x-goog-upload-chunk-granularity', '1'] };
  }
  const files = await parts.resumable();
  const file = await files.find(callerOf(exchange).tenant, uploadId);
  if (file === null) return noUpload(uploadId);
  const isLast = commands.includes('finalize');
  if (commands.includes('cancel')) {
    await files.cancel(file);
    return { status: 'cancelled' };
  }
  const received = (bytes: number): CommandAnswer => ({
    status: 'active',
    more: ['x-goog-upload-size-received', String(bytes)],
  });
  if (commands.includes('query')) return received(file.bytes);
  if (!commands.includes('upload') && !isLast) return wrongProtocol();
  const bytes = await append(parts, files, exchange, file);
  if (isFailure(bytes)) return bytes;
  if (!isLast) return received(bytes);
  await files.finish(file);
  return { status: 'final', body: { file: shown({ ...file, bytes }, linkOf(parts, exchange)) } };
}

async function begin(parts: UploadParts, exchange: Exchange): Promise<StoredFile | Failure> {
  const { account, tenant } = callerOf(exchange);
  const declared = Number(headerOf(exchange, 'x-goog-upload-header-content-length') ?? 0);
  if (declared > fileBytesMax) return { kind: 'body-too-large', limitBytes: fileBytesMax };
  const raw = hasBody(exchange.request) ? await readJsonBody(exchange, offLoopBodyBytes) : Buffer.from('{}');
  if (raw === null) return { kind: 'request-timeout', message: 'The request body broke off.' };
  const read = Buffer.isBuffer(raw) ? parseObject(raw) : raw;
  if (isFailure(read)) return read;
  const { file = {} } = read.body;
  if (!isObject(file)) return invalid('file', '\'file\' must be an object, such as {"displayName":"a"}.');
  const { name, displayName, display_name: inSnakeCase } = file;
  if (name !== undefined && name !== null && name !== '') {
    return invalid('file.name', "'file.name' cannot be chosen here. Leave it out, and set 'displayName'.");
  }
  const full = await parts.services.storage.mayKeep(account);
  if (full !== null) return full;
  const shownName = displayName ?? inSnakeCase ?? headerOf(exchange, 'x-goog-upload-file-name');
  const mediaType = headerOf(exchange, 'x-goog-upload-header-content-type') ?? file.mimeType ?? file.mime_type;
  return (await parts.resumable()).begin(tenant, {
    purpose: 'user_data',
    name: typeof shownName === 'string' ? shownName.slice(0, fileNameCharsMax) : '',
    mediaType: typeof mediaType === 'string' ? mediaType.slice(0, 200) : null,
    lifetimeMs: null,
  });
}

/** Appends the body. Resolves to the number of all bytes that are kept. */
async function append(
  parts: UploadParts,
  files: ResumableFiles,
  exchange: Exchange,
  file: UnfinishedFile,
): Promise<number | Failure> {
  const offset = Number(headerOf(exchange, 'x-goog-upload-offset') ?? 0);
  if (offset !== file.bytes) {
    const message = `This upload has ${file.bytes} bytes so far. Send what follows, with X-Goog-Upload-Offset: ${file.bytes}.`;
    return invalid('X-Goog-Upload-Offset', message);
  }
  const size = Number(new URLSearchParams(exchange.search).get('upload_size') || fileBytesMax);
  const bytesMax = Math.min(fileBytesMax, Number.isSafeInteger(size) ? size : fileBytesMax);
  return withHold(parts.services, callerOf(exchange).account, (hold) =>
    files.append(file, held(bodyPieces(exchange, Math.max(0, bytesMax - file.bytes)), hold), hold),
  );
}

function wrongProtocol(): Failure {
  const message =
    'Files come by the resumable protocol. Begin with X-Goog-Upload-Protocol: resumable and X-Goog-Upload-Command: start. Then send the bytes to the X-Goog-Upload-URL of the answer, with X-Goog-Upload-Command: upload, finalize.';
  return invalid('X-Goog-Upload-Protocol', message);
}

function noUpload(id: string): Failure {
  const message = `There is no upload '${id.slice(0, 80)}'. It has ended, or was left for a day, or belongs to another key. Begin a new one.`;
  return { kind: 'not-found', param: 'upload_id', message };
}

function uploadSchema() {
  const properties = { displayName: { type: 'string' }, mimeType: { type: 'string' } };
  return { type: 'object', properties: { file: { type: 'object', properties } } };
}
