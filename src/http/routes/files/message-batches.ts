import { createHash, type Hash } from 'node:crypto';
import { isoOrNull } from '../../../books/auth/key-facts.ts';
import { callerIdOf } from '../../../books/auth/principal.ts';
import type { StorageHold } from '../../../books/metering/storage/storage-hold.ts';
import { anthropicMessages } from '../../../formats/dialects/anthropic-messages/index.ts';
import { type Batch, succeededSoFar } from '../../../inference/batches/batch-facts.ts';
import { bytesOf } from '../../../inference/batches/batch-line.ts';
import { linesMax } from '../../../inference/batches/batch-run.ts';
import { type Batches, batchNotFound } from '../../../inference/batches/batches.ts';
import { requestElements } from '../../../inference/batches/request-elements.ts';
import type { StoredFiles } from '../../../inference/batches/stored-files.ts';
import { lineBytesMax } from '../../../inference/batches/upstream/upstream-client.ts';
import { resultsPurpose } from '../../../inference/batches/write-results.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { ObjectReader } from '../../../inference/spine/body-reader.ts';
import { type Failure, FailureError, invalid, isFailure } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { begunOnce } from '../../begun-once.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { jsonPieces } from '../../json-pieces.ts';
import { linkBaseOf } from '../../link-base.ts';
import { withHold } from '../../with-hold.ts';
import { keyRoute } from '../key-route.ts';
import { pageAround, placeIn, shownPage } from '../list-page.ts';
import { answerWith, type StoredCall, type StoredPlace, storedRoutes } from '../stored-route.ts';
import { sendFile } from './file-calls.ts';

export interface MessageBatchesParts {
  services: Services;
  files(): Promise<StoredFiles>;
  batches(): Promise<Batches>;
}

const place: StoredPlace = { endpoint: 'message-batches', dialect: anthropicMessages };
const route = storedRoutes(place);
const path = '/v1/messages/batches';
const one = `${path}/:id`;

/** Anthropic's bound of a batch. */
const bodyBytesMax = 256 * 1024 * 1024;
const idPrefix = 'msgbatch_';
const windowMs = 24 * 3_600_000;
const customIdForm = /^[a-zA-Z0-9_-]{1,64}$/;
/** Headers of the caller that its lines go out with. */
const storedHeaders = ['anthropic-version', 'anthropic-beta'];

/** Headers that each line of a batch has: the end user, and `names`. */
export function headersOfLines({ request: { headers } }: Exchange, names: readonly string[] = []) {
  const all = ['x-culvert-user', ...names].map((name) => [name, headers[name]] as const);
  return Object.fromEntries(all.filter((one): one is readonly [string, string] => typeof one[1] === 'string'));
}

/** `/v1/messages/batches`: Anthropic's batches of messages, over any provider. */
export function messageBatchesRoutes(parts: MessageBatchesParts): Route[] {
  const base = ({ request }: Exchange) => linkBaseOf(request, parts.services.snapshots.current.config.server);
  const found = async ({ tenant, params }: StoredCall): Promise<Batch | Failure> => {
    const id = params.id ?? '';
    const batch = await (await parts.batches()).find(tenant, 'anthropic', id);
    return batch ?? batchNotFound(id);
  };
  return [
    keyRoute(`POST ${path}`, 'one', {
      summary: 'Begin a batch of messages',
      limitForm: 'anthropic',
      ...place,
      body: { schema: bodySchema },
      handle: (exchange) => answerWith(exchange, () => begin(parts, exchange, base(exchange))),
    }),
    route('GET', path, 'The batches of messages of this key', async (call) => {
      const page = await pageOf(call, await parts.batches());
      if (isFailure(page)) return page;
      const link = base(call.exchange);
      return shownPage(
        page.rows.map((batch) => shownBatch(batch, link)),
        page.more,
      );
    }),
    route('GET', one, 'A batch of messages', async (call) => {
      const batch = await found(call);
      return isFailure(batch) ? batch : shownBatch(batch, base(call.exchange));
    }),
    route('GET', `${one}/results`, 'The results of a batch of messages', async (call) => {
      const batch = await found(call);
      if (isFailure(batch)) return batch;
      const files = await parts.files();
      const file = batch.outputFile === null ? null : await files.find(call.tenant, batch.outputFile);
      if (file === null) return invalid(null, `The batch '${batch.id}' has no results yet: it has not ended.`);
      await sendFile(call.exchange, files, file);
      return null;
    }),
    route('POST', `${one}/cancel`, 'Stop a batch of messages', async ({ exchange, tenant, params: { id = '' } }) => {
      const batch = await (await parts.batches()).cancel(tenant, 'anthropic', id);
      return batch === null ? batchNotFound(id) : shownBatch(batch, base(exchange));
    }),
    route('DELETE', one, 'Delete a batch of messages that has ended', async (call) => {
      const batch = await found(call);
      if (isFailure(batch)) return batch;
      const { id, ending, inputFile, outputFile } = batch;
      if (ending === null) return invalid(null, `The batch '${id}' has not ended. Cancel it, and delete it then.`);
      const files = await parts.files();
      for (const file of [inputFile, outputFile]) if (file !== null) await files.remove(call.tenant, file);
      await (await parts.batches()).remove(call.tenant, id);
      return { id, type: 'message_batch_deleted' };
    }),
  ];
}

/** The body is written to a file of lines as it comes: it is never whole in memory. */
function begin(parts: MessageBatchesParts, exchange: Exchange, base: string): Promise<JsonObject | Failure | null> {
  const caller = callerOf(exchange);
  const { account, tenant } = caller;
  return withHold(parts.services, account, async (hold) => {
    const digest = createHash('sha256');
    const pieces = hashed(jsonPieces(exchange, bodyBytesMax), digest);
    const files = await parts.files();
    const facts = { purpose: resultsPurpose, name: 'requests', lifetimeMs: 2 * windowMs, hold };
    const lines = linesIn(pieces, tenant, parts.services.bodies);
    const { id } = await files.create(tenant, facts, held(lines, hold));
    let isInput = false;
    const create = async () => {
      const headers = headersOfLines(exchange, storedHeaders);
      const order = { format: 'anthropic', endpoint: '/v1/messages', inputFile: id, windowMs, window: '24h' } as const;
      const made = { ...order, metadata: null, headers, outputKeptForMs: null };
      const batch = await (await parts.batches()).create({ tenant, account, keyId: callerIdOf(caller) }, made);
      isInput = true;
      return shownBatch(batch, base);
    };
    const request = { exchange, tenant, endpoint: place.endpoint, body: digest.digest() };
    return begunOnce(parts.services, request, create).finally(async () => {
      // Refused, or a repeat of another request.
      if (!isInput) await files.remove(tenant, id).catch(() => false);
    });
  });
}

async function* hashed(pieces: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** The same pieces, counted as they come. Throws a FailureError where the account may keep no more. */
export async function* held(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  hold: StorageHold,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    const full = hold.grow(piece.length);
    if (full !== null) throw new FailureError(full);
    yield piece;
  }
}

const lineEnd = Buffer.from('\n');

async function* linesIn(pieces: AsyncIterable<Buffer>, tenant: string, objects: ObjectReader): AsyncGenerator<Buffer> {
  let at = 0;
  const customIds = new Set<string>();
  for await (const element of requestElements(pieces, lineBytesMax)) {
    const param = `requests.${at}`;
    if (at >= linesMax) throw new FailureError(invalid('requests', `A batch may have ${linesMax} requests.`));
    const read = await objects.readObject(tenant, element);
    if (isFailure(read))
      throw new FailureError(invalid(param, factsOf(read, 0).message.replace('The body', `'${param}'`)));
    const { custom_id: customId, params } = read.body;
    if (typeof customId !== 'string' || !customIdForm.test(customId)) {
      const message = `'${param}.custom_id' must be 1 to 64 letters, digits, '_' or '-'.`;
      throw new FailureError(invalid(`${param}.custom_id`, message));
    }
    if (customIds.has(customId)) {
      const message = `'${param}.custom_id' repeats one of an earlier request: '${customId}'.`;
      throw new FailureError(invalid(`${param}.custom_id`, message));
    }
    customIds.add(customId);
    if (!isObject(params)) throw new FailureError(invalid(`${param}.params`, `'${param}.params' must be an object.`));
    const line = bytesOf({ custom_id: customId, params });
    if (line === null) throw new FailureError(invalid(`${param}.params`, `'${param}.params' is nested too deeply.`));
    yield Buffer.concat([line, lineEnd]);
    at += 1;
  }
}

async function pageOf({ tenant, query }: StoredCall, batches: Batches) {
  const after = placeIn(query, 'after_id', idPrefix);
  if (isFailure(after)) return after;
  return pageAround(query, { idPrefix, after }, (page) => batches.list({ tenant, format: 'anthropic', ...page }));
}

function shownBatch(batch: Batch, base: string): JsonObject {
  const { id, ending, total, errored, cancellingMs } = batch;
  const succeeded = succeededSoFar(batch);
  const left = total === null ? 0 : total - succeeded - errored;
  return {
    id,
    type: 'message_batch',
    processing_status: ending !== null ? 'ended' : cancellingMs !== null ? 'canceling' : 'in_progress',
    request_counts: {
      processing: ending === null ? left : 0,
      succeeded,
      errored,
      canceled: ending === 'cancelled' ? left : 0,
      expired: ending === 'expired' ? left : 0,
    },
    ended_at: isoOrNull(batch.endedMs),
    created_at: isoOrNull(batch.createdMs),
    expires_at: isoOrNull(batch.deadlineMs),
    archived_at: null,
    cancel_initiated_at: isoOrNull(cancellingMs),
    results_url: batch.outputFile === null ? null : `${base}${path}/${id}/results`,
  };
}

function bodySchema() {
  const request = {
    type: 'object',
    required: ['custom_id', 'params'],
    properties: { custom_id: { type: 'string', pattern: customIdForm.source }, params: { type: 'object' } },
  };
  return { type: 'object', required: ['requests'], properties: { requests: { type: 'array', items: request } } };
}
