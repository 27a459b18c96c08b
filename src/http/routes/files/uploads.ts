import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import {
  createPartUploads,
  type NewPartUpload,
  type PartOrder,
  type PartUpload,
  type PartUploads,
  type UploadPart,
} from '../../../inference/batches/part-uploads.ts';
import { purposes } from '../../../inference/batches/stored-files.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, isWhole, type JsonObject } from '../../../kernel/json.ts';
import { OpenedOnce } from '../../../kernel/opened-once.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { withHold } from '../../with-hold.ts';
import { refuseCall } from '../../write-json.ts';
import { keyRoute } from '../key-route.ts';
import { type StoredCall, type StoredPlace, storedRoutes } from '../stored-route.ts';
import { answerForm, type FilesParts, fileBytesMax, fileNameCharsMax } from './file-calls.ts';
import { expiryOf, retentionSchema, shownFile } from './openai-file.ts';

const place: StoredPlace = { endpoint: 'files', dialect: openAiChat };
const route = storedRoutes(place);
const path = '/v1/uploads';
const one = `${path}/:id`;

/** Largest size of a part. */
const partBytesMax = 64 * 1024 * 1024;
const formBytesMax = partBytesMax + 1024 * 1024;
const partsMax = 10_000;
const md5Form = /^[0-9a-f]{32}$/i;

/** `/v1/uploads`: OpenAI's uploads in parts, which become files of `/v1/files`. */
export function uploadsRoutes(parts: FilesParts): Route[] {
  const { clock } = parts.services;
  const { open: uploads } = new OpenedOnce(async () => createPartUploads(await parts.files(), () => clock.wallMs()));
  return [
    route(
      'POST',
      path,
      'Begin an upload in parts',
      async ({ tenant, account, body }) => {
        const facts = beginOf(body);
        if (isFailure(facts)) return facts;
        const full = await parts.services.storage.mayKeep(account);
        return full ?? shownUpload(await (await uploads()).begin(tenant, facts));
      },
      {
        bytes: { type: 'integer', minimum: 1, maximum: fileBytesMax },
        filename: { type: 'string', maxLength: fileNameCharsMax },
        mime_type: { type: 'string' },
        purpose: { type: 'string', enum: [...purposes] },
        expires_after: retentionSchema,
      },
    ),
    keyRoute(`POST ${one}/parts`, 'one', {
      summary: 'Add a part to an upload',
      ...place,
      body: { form: 'multipart/form-data', schema: partSchema },
      handle: (exchange) => addPart(parts, exchange, uploads),
    }),
    route(
      'POST',
      `${one}/complete`,
      'Make a file of the parts of an upload',
      async (call) => {
        const order = orderOf(call.body);
        if (isFailure(order)) return order;
        return withHold(parts.services, call.account, async (hold) => {
          const { upload, file } = await (await uploads()).complete(await found(uploads, call), order, hold);
          return { ...shownUpload(upload), file: shownFile(file) };
        });
      },
      {
        part_ids: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: partsMax },
        md5: { type: 'string' },
      },
    ),
    route('POST', `${one}/cancel`, 'Cancel an upload, and remove its parts', async (call) =>
      shownUpload(await (await uploads()).cancel(await found(uploads, call))),
    ),
  ];
}

type OpenUploads = () => Promise<PartUploads>;

async function found(uploads: OpenUploads, { tenant, params }: Pick<StoredCall, 'tenant' | 'params'>) {
  return (await uploads()).find(tenant, params.id ?? '');
}

async function addPart(parts: FilesParts, exchange: Exchange, uploads: OpenUploads): Promise<void> {
  const { tenant } = callerOf(exchange);
  const upload = await found(uploads, { tenant, params: exchange.params }).catch(failureIn);
  if (isFailure(upload)) return void refuseCall(exchange, upload);
  await answerForm(parts, exchange, formBytesMax, async ({ files }, hold) => {
    const data = files.find(({ name }) => name === 'data');
    if (data === undefined) return invalid('data', "The form has no file 'data'.");
    if (data.file.bytes > partBytesMax) return { kind: 'body-too-large', limitBytes: partBytesMax };
    const part = await (await uploads()).add(upload, data.file.read(), hold);
    return isFailure(part) ? part : shownPart(part);
  });
}

function beginOf({ bytes, filename, mime_type, purpose, expires_after }: JsonObject): NewPartUpload | Failure {
  if (!isWhole(bytes, 1, fileBytesMax)) {
    const message = `'bytes' must be a whole number from 1 to ${fileBytesMax}: the size of the whole file.`;
    return invalid('bytes', message);
  }
  if (typeof filename !== 'string' || filename === '' || filename.length > fileNameCharsMax) {
    const message = `'filename' must be a name of 1 to ${fileNameCharsMax} characters.`;
    return invalid('filename', message);
  }
  if (typeof mime_type !== 'string' || mime_type === '' || mime_type.length > 200) {
    return invalid('mime_type', "'mime_type' must be a type such as text/plain.");
  }
  if (!purposes.some((known) => known === purpose)) {
    return invalid('purpose', `'purpose' must be one of ${purposes.join(', ')}.`);
  }
  if (expires_after !== undefined && expires_after !== null && !isObject(expires_after)) {
    const message = '\'expires_after\' must be an object: {"anchor": "created_at", "seconds": 3600}.';
    return invalid('expires_after', message);
  }
  const lifetimeMs = isObject(expires_after) ? expiryOf(expires_after, 'expires_after') : null;
  if (isFailure(lifetimeMs)) return lifetimeMs;
  return { bytes, name: filename, mediaType: mime_type.toLowerCase(), purpose: String(purpose), lifetimeMs };
}

function orderOf({ part_ids, md5 }: JsonObject): PartOrder | Failure {
  if (!Array.isArray(part_ids) || part_ids.length === 0 || part_ids.length > partsMax) {
    const message = `'part_ids' must be a list of 1 to ${partsMax} ids of parts, in the order of the file.`;
    return invalid('part_ids', message);
  }
  const ids: string[] = [];
  for (const [at, id] of part_ids.entries()) {
    if (typeof id !== 'string') return invalid(`part_ids.${at}`, `'part_ids.${at}' must be the id of a part.`);
    ids.push(id);
  }
  if (md5 === undefined || md5 === null) return { ids, md5: null };
  if (typeof md5 !== 'string' || !md5Form.test(md5)) return invalid('md5', "'md5' must be 32 hexadecimal digits.");
  return { ids, md5 };
}

function shownUpload({ id, bytes, createdMs, expiresMs, name, purpose, status }: PartUpload): JsonObject {
  return {
    id,
    object: 'upload',
    bytes,
    created_at: Math.floor(createdMs / 1_000),
    expires_at: Math.floor(expiresMs / 1_000),
    filename: name,
    purpose,
    status,
    file: null,
  };
}

function shownPart({ id, uploadId, createdMs }: UploadPart): JsonObject {
  return { id, object: 'upload.part', created_at: Math.floor(createdMs / 1_000), upload_id: uploadId };
}

function partSchema() {
  return { type: 'object', required: ['data'], properties: { data: { type: 'string', format: 'binary' } } };
}
