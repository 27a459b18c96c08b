import { callerIdOf } from '../../../books/auth/principal.ts';
import type { UploadTickets } from '../../../books/auth/upload-tickets.ts';
import { gemini } from '../../../formats/dialects/gemini/index.ts';
import type { ResumableFiles } from '../../../inference/batches/resumable-files.ts';
import type { StoredFile } from '../../../inference/batches/stored-files.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { FailureError, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { objectIn } from '../../../kernel/parse-object.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../../exchange.ts';
import { bodyPieces } from '../../json-pieces.ts';
import { readJsonBody } from '../../read-body.ts';
import { writeJson } from '../../write-json.ts';
import { type FilesParts, fileBytesMax, fileNameCharsMax } from '../files/file-calls.ts';
import { held } from '../files/message-batches.ts';
import { linkOf } from './names.ts';

export interface UploadParts extends FilesParts {
  resumable(): Promise<ResumableFiles>;
  tickets: UploadTickets;
}

type Shown = (file: StoredFile, link: string) => JsonObject;

/**
 * Google's uploads: `start` gives an address, to which pieces go with `upload`, the last with `upload, finalize`.
 * `query` says how much is kept, so that an upload that broke off goes on there, and `cancel` drops it.
 */
export function fileUploadRoute(parts: UploadParts, version: string, shown: Shown): Route {
  const path = `/upload/${version}/files`;
  return {
    method: 'POST',
    path,
    summary: "Upload a file in pieces, by Google's resumable protocol",
    auth: 'key',
    lets: parts.tickets.principal,
    quota: 'one',
    endpoint: 'files',
    dialect: gemini,
    body: { schema: uploadSchema },
    async handle(exchange) {
      try {
        await taken(parts, exchange, path, shown);
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        refuse(exchange.client, error.failure, exchange.admitted?.headers ?? []);
      }
    },
  };
}

async function taken(parts: UploadParts, exchange: Exchange, path: string, shown: Shown): Promise<void> {
  const protocol = headerOf(exchange, 'x-goog-upload-protocol');
  const commands = (headerOf(exchange, 'x-goog-upload-command') ?? '').split(',').map((one) => one.trim());
  const uploadId = new URLSearchParams(exchange.search).get('upload_id');
  const answer = (status: Status, body: JsonObject, more: string[] = []) => {
    const headers = exchange.admitted?.headers ?? [];
    writeJson(exchange, 200, body, [...headers, 'x-goog-upload-status', status, ...more]);
  };
  if (uploadId === null) {
    if (protocol !== 'resumable' || commands[0] !== 'start') throw wrongProtocol();
    const { id } = await begin(parts, exchange);
    const ticket = parts.tickets.issue(callerIdOf(callerOf(exchange)), id);
    const url = `${linkOf(parts, exchange)}${path}?upload_id=${id}&upload_protocol=resumable&upload_ticket=${ticket}`;
    const more = ['x-goog-upload-url', url, 'x-goog-upload-control-url', url];
    return answer('active', {}, [...more, 'x-goog-upload-chunk-granularity', '1']);
  }
  const files = await parts.resumable();
  const file = await files.find(callerOf(exchange).tenant, uploadId);
  if (file === null) throw noUpload(uploadId);
  const isLast = commands.includes('finalize');
  if (commands.includes('cancel')) {
    await files.cancel(file);
    return answer('cancelled', {});
  }
  if (commands.includes('query')) return answer('active', {}, ['x-goog-upload-size-received', String(file.bytes)]);
  if (!commands.includes('upload') && !isLast) throw wrongProtocol();
  const bytes = await append(parts, files, exchange, file);
  if (!isLast) return answer('active', {}, ['x-goog-upload-size-received', String(bytes)]);
  await files.finish(file);
  answer('final', { file: shown({ ...file, bytes }, linkOf(parts, exchange)) });
}

type Status = 'active' | 'final' | 'cancelled';

async function begin(parts: UploadParts, exchange: Exchange): Promise<StoredFile> {
  const { account, tenant } = callerOf(exchange);
  const declared = Number(headerOf(exchange, 'x-goog-upload-header-content-length') ?? 0);
  if (declared > fileBytesMax) throw new FailureError({ kind: 'body-too-large', limitBytes: fileBytesMax });
  const hasBody = (exchange.request.headers['content-length'] ?? '0') !== '0';
  const raw = hasBody ? await readJsonBody(exchange, offLoopBodyBytes) : Buffer.from('{}');
  if (raw === null) throw new FailureError({ kind: 'request-timeout', message: 'The request body broke off.' });
  if (!Buffer.isBuffer(raw)) throw new FailureError(raw);
  const { file = {} } = objectIn(raw);
  if (!isObject(file))
    throw new FailureError(invalid('file', '\'file\' must be an object, such as {"displayName":"a"}.'));
  const { name, displayName, display_name: inSnakeCase } = file;
  if (name !== undefined && name !== null && name !== '') {
    throw new FailureError(
      invalid('file.name', "'file.name' cannot be chosen here. Leave it out, and set 'displayName'."),
    );
  }
  const full = await parts.services.storage.mayKeep(account);
  if (full !== null) throw new FailureError(full);
  const shownName = displayName ?? inSnakeCase ?? headerOf(exchange, 'x-goog-upload-file-name');
  const mediaType = headerOf(exchange, 'x-goog-upload-header-content-type') ?? file.mimeType ?? file.mime_type;
  return (await parts.resumable()).begin(tenant, {
    purpose: 'user_data',
    name: typeof shownName === 'string' ? shownName.slice(0, fileNameCharsMax) : '',
    mediaType: typeof mediaType === 'string' ? mediaType.slice(0, 200) : null,
    lifetimeMs: null,
  });
}

/** Resolves to all bytes that are kept. */
async function append(
  parts: UploadParts,
  files: ResumableFiles,
  exchange: Exchange,
  file: StoredFile,
): Promise<number> {
  const offset = Number(headerOf(exchange, 'x-goog-upload-offset') ?? 0);
  if (offset !== file.bytes) {
    const message = `This upload has ${file.bytes} bytes so far. Send what follows, with X-Goog-Upload-Offset: ${file.bytes}.`;
    throw new FailureError(invalid('X-Goog-Upload-Offset', message));
  }
  const hold = await parts.services.storage.hold(callerOf(exchange).account);
  if (isFailure(hold)) throw new FailureError(hold);
  try {
    return await files.append(file, held(bodyPieces(exchange, fileBytesMax - file.bytes), hold), hold);
  } finally {
    hold.release();
  }
}

function wrongProtocol(): FailureError {
  const message =
    'Files come by the resumable protocol. Begin with X-Goog-Upload-Protocol: resumable and X-Goog-Upload-Command: start. Then send the bytes to the X-Goog-Upload-URL of the answer, with X-Goog-Upload-Command: upload, finalize.';
  return new FailureError(invalid('X-Goog-Upload-Protocol', message));
}

function noUpload(id: string): FailureError {
  const message = `There is no upload '${id.slice(0, 80)}'. It has ended, or was left for a day, or belongs to another key. Begin a new one.`;
  return new FailureError({ kind: 'not-found', param: 'upload_id', message });
}

function uploadSchema() {
  const properties = { displayName: { type: 'string' }, mimeType: { type: 'string' } };
  return { type: 'object', properties: { file: { type: 'object', properties } } };
}
