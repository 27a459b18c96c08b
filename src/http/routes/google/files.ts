import { gemini } from '../../../formats/dialects/gemini/index.ts';
import { type StoredFile, shownPurposes } from '../../../inference/batches/stored-files.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Route } from '../../exchange.ts';
import { type FilesParts, fileOf, removeFile, sendFile } from '../files/file-calls.ts';
import { wholeOf } from '../list-page.ts';
import { type StoredCall, type StoredPlace, storedRoute } from '../stored-route.ts';
import { fileIdOf, fileNameOf, googleVersions, linkOf, pageTokenIn } from './resource-names.ts';
import { fileUploadRoute, type UploadParts } from './upload.ts';
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
