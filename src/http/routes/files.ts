import { pipeline } from 'node:stream/promises';
import { fileNotFound } from '../../inference/batches/batches.ts';
import type { StoredFile, StoredFiles } from '../../inference/batches/stored-files.ts';
import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { readerStallTimeoutMs } from '../../kernel/limits.ts';
import type { StorageHold } from '../../metering/storage-hold.ts';
import { identityHeaders } from '../delivery.ts';
import type { Exchange, Route } from '../exchange.ts';
import { type FormField, type Multipart, readMultipart } from '../read-multipart.ts';
import { writeJson } from '../write-json.ts';
import { type KeptPlace, keptRoute } from './kept.ts';
import { listed, oneOf } from './list-page.ts';

export interface FilesParts {
  services: Services;
  files(): Promise<StoredFiles>;
}

const place: KeptPlace = { endpoint: 'files', dialect: openAiChat };
const path = '/v1/files';
const one = `${path}/:id`;

/** Of one file. */
const fileBytesMax = 512 * 1024 * 1024;
const formBytesMax = fileBytesMax + 1024 * 1024;
const fileNameCharsMax = 512;
/** Files that callers bring; and those that batches write for them. */
const purposes = ['batch', 'user_data', 'assistants', 'vision'] as const;
export const shownPurposes: readonly string[] = [...purposes, 'batch_output'];
const keptForSMin = 3_600;
const keptForSMax = 30 * 24 * 3_600;

/** `/v1/files`: OpenAI's files, kept here for their key. */
export function filesRoutes(parts: FilesParts): Route[] {
  const found = async (tenant: string, id: string): Promise<StoredFile> => {
    const file = await (await parts.files()).find(tenant, id);
    if (file === null || !shownPurposes.includes(file.purpose)) throw new FailureError(fileNotFound(id));
    return file;
  };
  return [
    {
      method: 'POST',
      path,
      summary: 'Upload a file',
      auth: 'key',
      quota: 'one',
      ...place,
      body: { form: 'multipart/form-data', schema: uploadSchema },
      handle: (exchange) => upload(parts, exchange),
    },
    keptRoute(
      'GET',
      path,
      'The files of this key',
      async ({ tenant, query }) => {
        const page = listed(query, { limitMax: 10_000, limit: 10_000 });
        const purpose = oneOf(query, 'purpose', shownPurposes);
        const files = await (await parts.files()).list({
          tenant,
          ...page,
          limit: page.limit + 1,
          purposes: purpose === null ? shownPurposes : [purpose],
        });
        return listOf(files.map(shownFile), page.limit);
      },
      {},
      place,
    ),
    keptRoute(
      'GET',
      one,
      'A file',
      async ({ tenant, params }) => shownFile(await found(tenant, params.id ?? '')),
      {},
      place,
    ),
    keptRoute(
      'DELETE',
      one,
      'Delete a file',
      async ({ tenant, params }) => {
        const { id } = await found(tenant, params.id ?? '');
        await (await parts.files()).remove(tenant, id);
        return { id, object: 'file', deleted: true };
      },
      {},
      place,
    ),
    keptRoute(
      'GET',
      `${one}/content`,
      'The content of a file',
      async ({ tenant, params, exchange }) => {
        await sendFile(exchange, await parts.files(), await found(tenant, params.id ?? ''));
        return null;
      },
      {},
      place,
    ),
  ];
}

/** A page of objects with ids, of which one more than `limit` was read. */
export function listOf(objects: readonly JsonObject[], limit: number): JsonObject {
  const data = objects.slice(0, limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: objects.length > limit,
  };
}

/** The whole file as it is. */
export async function sendFile(exchange: Exchange, files: StoredFiles, file: StoredFile): Promise<void> {
  const { request, response } = exchange;
  response.writeHead(200, [
    ...identityHeaders(exchange),
    ...(exchange.admitted?.headers ?? []),
    'content-type',
    'application/octet-stream',
    'content-length',
    String(file.bytes),
    'x-content-type-options',
    'nosniff',
  ]);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  response.setTimeout(readerStallTimeoutMs, () => response.destroy());
  // A reader who left, or a file that was deleted meanwhile, breaks the connection off: nothing else can be said.
  await pipeline(files.read(file), response).catch(() => response.destroy());
}

async function upload({ services, files }: FilesParts, exchange: Exchange): Promise<void> {
  const { account } = exchange.principal!;
  const headers = exchange.admitted?.headers ?? [];
  const hold = await services.storage.hold(account);
  if ('kind' in hold) return refuse(exchange.client, hold, headers);
  try {
    await uploadHeld({ services, files }, exchange, hold);
  } finally {
    hold.release();
  }
}

async function uploadHeld({ services, files }: FilesParts, exchange: Exchange, hold: StorageHold): Promise<void> {
  const { tenant } = exchange.principal!;
  const headers = exchange.admitted?.headers ?? [];
  const form = await readMultipart(exchange, services.spool, { bodyBytes: formBytesMax, files: 1, hold });
  if (form === null) return;
  if ('kind' in form) return refuse(exchange.client, form, headers);
  try {
    const { content, ...facts } = readUpload(form);
    const file = await (await files()).create(tenant, { ...facts, hold }, content.read());
    // Before its answer: the caller's next request may need its place.
    await form.release();
    writeJson(exchange, 200, shownFile(file), headers);
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    refuse(exchange.client, error.failure, headers);
  } finally {
    await form.release();
  }
}

function readUpload({ fields, files }: Multipart) {
  const file = files.find(({ name }) => name === 'file');
  if (file === undefined) throw new FailureError(invalid('file', "The form has no file 'file'."));
  const purpose = fieldOf(fields, 'purpose');
  if (!purposes.some((known) => known === purpose)) {
    throw new FailureError(invalid('purpose', `'purpose' must be one of ${purposes.join(', ')}.`));
  }
  const name = file.fileName.slice(0, fileNameCharsMax) || 'file';
  return { purpose: purpose!, name, keptForMs: keptForOf(fields), content: file.file };
}

function keptForOf(fields: readonly FormField[]): number | null {
  const anchor = fieldOf(fields, 'expires_after[anchor]');
  const seconds = fieldOf(fields, 'expires_after[seconds]');
  if (anchor === null && seconds === null) return null;
  return expiryOf({ anchor, seconds: seconds === null ? null : Number(seconds) }, 'expires_after');
}

/** Ms that a file is kept for; `after` as OpenAI writes it. Throws a FailureError. */
export function expiryOf({ anchor, seconds }: JsonObject, param: string): number {
  if (anchor !== 'created_at')
    throw new FailureError(invalid(`${param}.anchor`, `'${param}.anchor' must be created_at.`));
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= keptForSMin && seconds <= keptForSMax) {
    return seconds * 1_000;
  }
  const range = `from ${keptForSMin} to ${keptForSMax}`;
  throw new FailureError(invalid(`${param}.seconds`, `'${param}.seconds' must be a whole number ${range}.`));
}

function fieldOf(fields: readonly FormField[], wanted: string): string | null {
  return fields.find(({ name }) => name === wanted)?.value ?? null;
}

function shownFile({ id, bytes, createdMs, expiresMs, name, purpose }: StoredFile): JsonObject {
  return {
    id,
    object: 'file',
    bytes,
    created_at: Math.floor(createdMs / 1_000),
    expires_at: Math.floor(expiresMs / 1_000),
    filename: name,
    purpose,
    status: 'processed',
  };
}

function uploadSchema() {
  return {
    type: 'object',
    required: ['file', 'purpose'],
    properties: {
      file: { type: 'string', format: 'binary' },
      purpose: { type: 'string', enum: [...purposes] },
      'expires_after[anchor]': { type: 'string', enum: ['created_at'] },
      'expires_after[seconds]': { type: 'integer', minimum: keptForSMin, maximum: keptForSMax },
    },
  };
}
