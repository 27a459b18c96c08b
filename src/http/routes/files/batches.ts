import { callerIdOf } from '../../../books/auth/principal.ts';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { type Batch, succeededSoFar } from '../../../inference/batches/batch-facts.ts';
import { batchNotFound, fileNotFound } from '../../../inference/batches/batches.ts';
import { checkedMetadata, metadataSchema } from '../../../inference/families/responses/conversation-fields.ts';
import { type Failure, invalidField, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { begunOnce } from '../../begun-once.ts';
import { callerOf, type Route } from '../../exchange.ts';
import { listed, listOf } from '../list-page.ts';
import { type StoredCall, type StoredPlace, storedRoutes } from '../stored-route.ts';
import { headersOfLines, type MessageBatchesParts } from './message-batches.ts';
import { expiryOf } from './openai-file.ts';

export interface BatchesRouteParts extends MessageBatchesParts {
  /** Endpoints that the lines of a batch may be sent to. */
  endpoints: readonly string[];
}

const place: StoredPlace = { endpoint: 'batches', dialect: openAiChat };
const route = storedRoutes(place);
const path = '/v1/batches';
const one = `${path}/:id`;

/** `/v1/batches`: OpenAI's batches of requests, over any provider. */
export function batchesRoutes(parts: BatchesRouteParts): Route[] {
  const properties = {
    input_file_id: { type: 'string' },
    endpoint: { type: 'string', enum: [...parts.endpoints] },
    completion_window: { type: 'string', pattern: '^\\d+[smhd]$' },
    metadata: metadataSchema,
    output_expires_after: { type: 'object' },
  };
  const shown = (batch: Batch | null, { params }: StoredCall): JsonObject | Failure =>
    batch === null ? batchNotFound(params.id ?? '') : shownBatch(batch);
  return [
    route(
      'POST',
      path,
      'Begin a batch of requests',
      (call) => {
        const { exchange, tenant, body } = call;
        const request = { exchange, tenant, endpoint: 'batches', body: Buffer.from(JSON.stringify(body)) };
        return begunOnce(parts.services, request, () => begin(parts, call));
      },
      properties,
    ),
    route('GET', path, 'The batches of this key', async ({ tenant, query }) => {
      const page = listed(query, { limitMax: 100, limit: 20, idPrefix: 'batch_' });
      if (isFailure(page)) return page;
      const batches = await parts.batches();
      const found = await batches.list({ tenant, ...page, limit: page.limit + 1, format: 'openai' });
      return listOf(found.map(shownBatch), page.limit);
    }),
    route('GET', one, 'A batch', async (call) =>
      shown(await (await parts.batches()).find(call.tenant, 'openai', call.params.id ?? ''), call),
    ),
    route('POST', `${one}/cancel`, 'Stop a batch', async (call) =>
      shown(await (await parts.batches()).cancel(call.tenant, 'openai', call.params.id ?? ''), call),
    ),
  ];
}

async function begin(
  parts: BatchesRouteParts,
  { tenant, account, exchange, body }: StoredCall,
): Promise<JsonObject | Failure> {
  const { endpoint, input_file_id: inputFile, completion_window: window, output_expires_after: expiry } = body;
  if (typeof inputFile !== 'string') return invalidField('input_file_id', 'must be the id of a file');
  if (typeof endpoint !== 'string' || !parts.endpoints.includes(endpoint)) {
    return invalidField('endpoint', `must be one of ${parts.endpoints.join(', ')}`);
  }
  if (typeof window !== 'string') return wrongWindow();
  const windowMs = windowOf(window);
  if (isFailure(windowMs)) return windowMs;
  const checked = body.metadata == null ? { metadata: null } : checkedMetadata(body.metadata);
  if (isFailure(checked)) return checked;
  const outputKeptForMs = isObject(expiry) ? expiryOf(expiry, 'output_expires_after') : null;
  if (isFailure(outputKeptForMs)) return outputKeptForMs;
  const full = await parts.services.storage.mayKeep(account);
  if (full !== null) return full;
  const file = await (await parts.files()).find(tenant, inputFile);
  if (file === null) return fileNotFound(inputFile, 'input_file_id');
  if (file.purpose !== 'batch') return invalidField('input_file_id', "must be a file with the purpose 'batch'");
  if (file.expiresMs < parts.services.clock.wallMs() + windowMs) {
    return invalidField('input_file_id', 'must be a file that does not expire before the completion_window ends');
  }
  const owner = { tenant, account, keyId: callerIdOf(callerOf(exchange)) };
  const facts = { format: 'openai', endpoint, inputFile, windowMs, window } as const;
  const batches = await parts.batches();
  const made = { ...facts, ...checked, headers: headersOfLines(exchange), outputKeptForMs };
  return shownBatch(await batches.create(owner, made));
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 24 * 3_600_000 };
const windowMsMax = 7 * 24 * 3_600_000;

function windowOf(window: string): number | Failure {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(window) ?? [];
  const ms = Number(amount) * (unitMs[unit] ?? Number.NaN);
  if (ms > 0 && ms <= windowMsMax) return ms;
  return wrongWindow();
}

function wrongWindow(): Failure {
  return invalidField('completion_window', 'must be a time from 1s to 7d, such as 24h');
}

function shownBatch(batch: Batch): JsonObject {
  const { ending, endedMs } = batch;
  const endedAs = (which: Batch['ending']) => (ending === which ? secondsOf(endedMs) : null);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    errors:
      batch.errors.length === 0 ? null : { object: 'list', data: batch.errors.map((one) => ({ ...one, param: null })) },
    input_file_id: batch.inputFile,
    completion_window: batch.window,
    status: statusOf(batch),
    output_file_id: batch.outputFile,
    error_file_id: batch.errorFile,
    created_at: secondsOf(batch.createdMs),
    in_progress_at: secondsOf(batch.countedMs),
    expires_at: secondsOf(batch.deadlineMs),
    finalizing_at: secondsOf(batch.finalizingMs),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: secondsOf(batch.cancellingMs),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total: batch.total ?? 0, completed: succeededSoFar(batch), failed: batch.errored },
    metadata: batch.metadata,
  };
}

function statusOf({ ending, cancellingMs, finalizingMs, countedMs }: Batch): string {
  if (ending !== null) return ending;
  if (cancellingMs !== null) return 'cancelling';
  if (finalizingMs !== null) return 'finalizing';
  return countedMs === null ? 'validating' : 'in_progress';
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1_000);
}
