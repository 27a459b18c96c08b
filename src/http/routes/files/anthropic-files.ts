import { extname } from 'node:path';
import { anthropicMessages } from '../../../formats/dialects/anthropic-messages/index.ts';
import { type StoredFile, shownPurposes } from '../../../inference/batches/stored-files.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Route } from '../../exchange.ts';
import type { FormField } from '../../read-multipart.ts';
import { keyRoute } from '../key-route.ts';
import { pageAround, placeIn, shownPage } from '../list-page.ts';
import { type StoredCall, type StoredPlace, storedRoutes } from '../stored-route.ts';
import { type FileFormat, type FilesParts, fieldOf, oneFileRoutes, uploadFile } from './file-calls.ts';

const place: StoredPlace = { endpoint: 'files', dialect: anthropicMessages };
const route = storedRoutes(place);
const path = '/v1/files';
const one = `${path}/:id`;
const idPrefix = 'file-';
const format: FileFormat = { factsOf, shown: shownFile };

/** Anthropic's bound of `expires_in_seconds`. */
const retentionSMin = 3_600;
const retentionSMax = 90 * 24 * 3_600;
/** Anthropic's bound of a list by ids. */
const idsMax = 100;

/** `/v1/files` as Anthropic's SDKs ask for it (`client.beta.files`): the same files as OpenAI's. */
export function anthropicFilesRoutes(parts: FilesParts): Route[] {
  return [
    keyRoute(`POST ${path}`, 'one', {
      summary: 'Upload a file',
      limitForm: 'anthropic',
      ...place,
      body: { form: 'multipart/form-data', schema: uploadSchema },
      handle: (exchange) => uploadFile(parts, exchange, format),
    }),
    route('GET', path, 'The files of this key', (call) => pageOf(parts, call)),
    ...oneFileRoutes(parts, route, one, { shown: shownFile, removed: { type: 'file_deleted' } }),
  ];
}

/** Newest first. Newer SDKs go on by `next_page`, older ones by `after_id` and `before_id`. */
async function pageOf(parts: FilesParts, { tenant, query }: StoredCall): Promise<JsonObject | Failure> {
  const ids = [...query.getAll('ids[]'), ...query.getAll('ids')];
  if (ids.length > 0) return pageOfIds(parts, tenant, [...new Set(ids)]);
  const after = placeIn(query, 'page', idPrefix) ?? placeIn(query, 'after_id', idPrefix);
  if (isFailure(after)) return after;
  const files = await parts.files();
  const page = await pageAround(query, { idPrefix, after }, (bounds) =>
    files.list({ tenant, purposes: shownPurposes, ...bounds }),
  );
  if (isFailure(page)) return page;
  const { rows, more, isBefore } = page;
  return { ...shownPage(rows.map(shownFile), more), next_page: isBefore || !more ? null : (rows.at(-1)?.id ?? null) };
}

/** Ids that are unknown are left out, as Anthropic does. */
async function pageOfIds(parts: FilesParts, tenant: string, ids: readonly string[]): Promise<JsonObject | Failure> {
  if (ids.length > idsMax) return invalid('ids', `'ids' may name at most ${idsMax} files.`);
  const files = await parts.files();
  const page: StoredFile[] = [];
  for (const id of ids) {
    const file = await files.shown(tenant, id);
    if (file !== null) page.push(file);
  }
  return { ...shownPage(page.map(shownFile), false), next_page: null };
}

function factsOf(fields: readonly FormField[]) {
  const text = fieldOf(fields, 'expires_in_seconds');
  if (text === null) return { purpose: 'user_data', lifetimeMs: null };
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (seconds < retentionSMin || seconds > retentionSMax) {
    const range = `from ${retentionSMin} to ${retentionSMax}`;
    return invalid('expires_in_seconds', `'expires_in_seconds' must be a whole number ${range}.`);
  }
  return { purpose: 'user_data', lifetimeMs: seconds * 1_000 };
}

function shownFile({ id, bytes, createdMs, expiresMs, name, mediaType }: StoredFile): JsonObject {
  return {
    id,
    type: 'file',
    filename: name,
    mime_type: mediaType ?? mediaTypes[extname(name).toLowerCase()] ?? 'application/octet-stream',
    size_bytes: bytes,
    created_at: new Date(createdMs).toISOString(),
    expires_at: new Date(expiresMs).toISOString(),
    downloadable: true,
  };
}

function uploadSchema() {
  return {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', format: 'binary' },
      expires_in_seconds: { type: 'integer', minimum: retentionSMin, maximum: retentionSMax },
    },
  };
}

/** Types of files that came without one. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.jsonl': 'application/jsonl',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
};
