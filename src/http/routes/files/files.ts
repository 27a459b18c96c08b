import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { purposes, type StoredFile, shownPurposes } from '../../../inference/batches/stored-files.ts';
import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Route } from '../../exchange.ts';
import { withOtherFormat } from '../../other-format.ts';
import type { FormField } from '../../read-multipart.ts';
import { listed, oneOf } from '../list-page.ts';
import { type StoredPlace, storedRoute } from '../stored-route.ts';
import { anthropicFilesRoutes } from './anthropic-files.ts';
import { type FileFormat, type FilesParts, fieldOf, fileOf, sendFile, uploadFile } from './file-calls.ts';

const place: StoredPlace = { endpoint: 'files', dialect: openAiChat };
const path = '/v1/files';
const one = `${path}/:id`;

const format: FileFormat = { factsOf, shown: shownFile };
const retentionSMin = 3_600;
const retentionSMax = 30 * 24 * 3_600;

/** `/v1/files`: OpenAI's files, kept here for their key; in Anthropic's format where `anthropic-version` is sent. */
export function filesRoutes(parts: FilesParts): Route[] {
  return withOtherFormat(openAiFilesRoutes(parts), 'anthropic-version', anthropicFilesRoutes(parts));
}

function openAiFilesRoutes(parts: FilesParts): Route[] {
  const found = (tenant: string, id: string) => fileOf(parts, tenant, id);
  return [
    {
      method: 'POST',
      path,
      summary: 'Upload a file',
      auth: 'key',
      quota: 'one',
      ...place,
      body: { form: 'multipart/form-data', schema: uploadSchema },
      handle: (exchange) => uploadFile(parts, exchange, format),
    },
    storedRoute(
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
    storedRoute(
      'GET',
      one,
      'A file',
      async ({ tenant, params }) => shownFile(await found(tenant, params.id ?? '')),
      {},
      place,
    ),
    storedRoute(
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
    storedRoute(
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

function factsOf(fields: readonly FormField[]) {
  const purpose = fieldOf(fields, 'purpose');
  if (!purposes.some((known) => known === purpose)) {
    throw new FailureError(invalid('purpose', `'purpose' must be one of ${purposes.join(', ')}.`));
  }
  return { purpose: purpose!, lifetimeMs: retentionOf(fields) };
}

function retentionOf(fields: readonly FormField[]): number | null {
  const anchor = fieldOf(fields, 'expires_after[anchor]');
  const seconds = fieldOf(fields, 'expires_after[seconds]');
  if (anchor === null && seconds === null) return null;
  return expiryOf({ anchor, seconds: seconds === null ? null : Number(seconds) }, 'expires_after');
}

/** Ms that a file is kept for; `after` as OpenAI writes it. Throws a FailureError. */
export function expiryOf({ anchor, seconds }: JsonObject, param: string): number {
  if (anchor !== 'created_at')
    throw new FailureError(invalid(`${param}.anchor`, `'${param}.anchor' must be created_at.`));
  if (
    typeof seconds === 'number' &&
    Number.isInteger(seconds) &&
    seconds >= retentionSMin &&
    seconds <= retentionSMax
  ) {
    return seconds * 1_000;
  }
  const range = `from ${retentionSMin} to ${retentionSMax}`;
  throw new FailureError(invalid(`${param}.seconds`, `'${param}.seconds' must be a whole number ${range}.`));
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
      'expires_after[seconds]': { type: 'integer', minimum: retentionSMin, maximum: retentionSMax },
    },
  };
}
