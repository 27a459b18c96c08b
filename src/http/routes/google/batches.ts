import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { callerIdOf } from '../../../books/auth/principal.ts';
import { gemini } from '../../../formats/dialects/gemini/index.ts';
import { uploadOfUri } from '../../../formats/dialects/named-objects.ts';
import { type Batch, succeededSoFar } from '../../../inference/batches/batch-facts.ts';
import { batchNotFound, fileNotFound } from '../../../inference/batches/batches.ts';
import { geminiEmbeddingsPath, geminiLinesPath } from '../../../inference/batches/line-endpoints.ts';
import type { StoredFile, StoredFiles } from '../../../inference/batches/stored-files.ts';
import { resultsPurpose } from '../../../inference/batches/write-results.ts';
import { type Failure, invalid, invalidField, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { withHold } from '../../with-hold.ts';
import { headersOfLines, held, type MessageBatchesParts } from '../files/message-batches.ts';
import { wholeOf } from '../list-page.ts';
import { answerWith, type StoredCall, type StoredPlace, storedRoutes } from '../stored-route.ts';
import { fileNameOf, googleVersions, pageTokenIn } from './resource-names.ts';

export type GoogleBatchesParts = MessageBatchesParts;

const windowMs = 24 * 3_600_000;
const place: StoredPlace = { endpoint: 'batches', dialect: gemini };
const route = storedRoutes(place);
/** Largest results that an operation holds itself. A batch with more names its file alone: writing it holds the loop. */
const inlineBytesMax = 8 * 1024 * 1024;
/** Lines of this size are read in one turn of the loop. */
const turnChars = 256 * 1024;

/** A method of a model that begins a batch, and the endpoint of its lines. */
export interface BatchMethod {
  model: string;
  endpoint: typeof geminiLinesPath | typeof geminiEmbeddingsPath;
}

/** The model and the kind of batch that a path names behind `/models/`; null: it begins none. */
export function batchMethodOf(path: string): BatchMethod | null {
  const [, model, method] = /^(.+):(batchGenerateContent|asyncBatchEmbedContent)$/s.exec(path) ?? [];
  if (model === undefined) return null;
  return { model, endpoint: method === 'batchGenerateContent' ? geminiLinesPath : geminiEmbeddingsPath };
}

/** Google's `batches`: operations of a batch that `:batchGenerateContent` or `:asyncBatchEmbedContent` began. */
export function googleBatchesRoutes(parts: GoogleBatchesParts): Route[] {
  return googleVersions.flatMap((version) => {
    const path = `/${version}/batches`;
    const one = `${path}/:id`;
    return [
      route('GET', path, "The batches of this key, in Google's format", (call) => listed(parts, call)),
      route('GET', one, "A batch, in Google's format", async (call) => {
        const batch = await found(parts, call.tenant, call.params.id ?? '');
        return isFailure(batch) ? batch : operationOf(parts, batch, 'whole');
      }),
      route('POST', one, "Stop a batch, with ':cancel', in Google's format", async (call) => {
        const [, id, verb] = /^(.+):(\w+)$/s.exec(call.params.id ?? '') ?? [];
        if (id === undefined || verb !== 'cancel') {
          return { kind: 'not-found', message: 'A batch has the method :cancel alone.' };
        }
        const batch = await found(parts, call.tenant, id);
        if (isFailure(batch)) return batch;
        await (await parts.batches()).cancel(call.tenant, 'gemini', id);
        return {};
      }),
      route('DELETE', one, "Delete a batch that has ended, in Google's format", async (call) => {
        const batch = await found(parts, call.tenant, call.params.id ?? '');
        if (isFailure(batch)) return batch;
        const { id, ending, inputFile, outputFile, gemini: facts } = batch;
        if (ending === null) return invalid(null, `The batch '${id}' has not ended. Cancel it, and delete it then.`);
        const files = facts?.input === 'inline' ? [inputFile, outputFile] : [];
        for (const file of files) if (file !== null) await (await parts.files()).remove(call.tenant, file);
        await (await parts.batches()).remove(call.tenant, id);
        return {};
      }),
    ];
  });
}

/** Begins a batch by a method of a model. The exchange has its body. */
export function beginGoogleBatch(parts: GoogleBatchesParts, exchange: Exchange, method: BatchMethod): Promise<void> {
  const { tenant } = callerOf(exchange);
  return answerWith(exchange, async () => {
    const read = await parts.services.bodies.readObject(tenant, exchange.givenBody ?? Buffer.from('{}'));
    return isFailure(read) ? read : begin(parts, exchange, method, read.body);
  });
}

async function begin(
  parts: GoogleBatchesParts,
  exchange: Exchange,
  { model, endpoint }: BatchMethod,
  body: JsonObject,
): Promise<JsonObject | Failure> {
  const { services } = parts;
  const principal = callerOf(exchange);
  const { tenant, account } = principal;
  const alias = services.snapshots.current.models.resolve(model, principal);
  if (isFailure(alias)) return alias;
  const settings = objectIn(body.batch);
  const config = settings.inputConfig ?? settings.input_config;
  if (!isObject(config)) return invalidField('batch.inputConfig', 'must have requests, or the fileName of a file');
  const { displayName, display_name: inSnakeCase = displayName } = settings;
  const fileName = config.fileName ?? config.file_name;
  const full = await services.storage.mayKeep(account);
  if (full !== null) return full;
  const input = fileName == null ? 'inline' : 'file';
  const inputFile =
    fileName == null ? await inlineFile(parts, exchange, config.requests) : await namedFile(parts, tenant, fileName);
  if (isFailure(inputFile)) return inputFile;
  const shownName = typeof inSnakeCase === 'string' ? inSnakeCase.slice(0, 512) : '';
  const facts = { model, displayName: shownName, input } as const;
  const order = { format: 'gemini', endpoint, inputFile, windowMs, window: '24h' } as const;
  const batches = await parts.batches();
  const made = { ...order, metadata: null, headers: headersOfLines(exchange), outputKeptForMs: null, gemini: facts };
  try {
    return operationOf(parts, await batches.create({ tenant, account, keyId: callerIdOf(principal) }, made), 'facts');
  } catch (error) {
    if (input === 'inline') await (await parts.files()).remove(tenant, inputFile);
    throw error;
  }
}

async function namedFile(
  { services, files }: GoogleBatchesParts,
  tenant: string,
  name: JsonValue,
): Promise<string | Failure> {
  const field = 'batch.inputConfig.fileName';
  const id = typeof name === 'string' ? uploadOfUri(name) : null;
  if (id === null) return invalidField(field, 'must be the name of a file, such as files/abc');
  const file = await (await files()).shown(tenant, id);
  if (file === null) return fileNotFound(String(name).slice(0, 80), field);
  if (file.expiresMs < services.clock.wallMs() + windowMs) {
    return invalidField(field, 'must be a file that does not expire within 24 hours');
  }
  return id;
}

/** Keeps requests as the lines of a file that is not shown; each is named by its place. */
async function inlineFile(
  parts: GoogleBatchesParts,
  exchange: Exchange,
  wrapped: JsonValue | undefined,
): Promise<string | Failure> {
  const field = 'batch.inputConfig.requests.requests';
  const requests = isObject(wrapped) ? wrapped.requests : wrapped;
  if (!Array.isArray(requests) || requests.length === 0)
    return invalidField(field, 'must be a list of at least one request');
  const lines: Buffer[] = [];
  for (const [at, one] of requests.entries()) {
    if (!isObject(one) || !isObject(one.request)) return invalidField(`${field}[${at}].request`, 'must be an object');
    const { request, metadata } = one;
    lines.push(Buffer.from(`${JSON.stringify({ key: String(at), ...(metadata != null && { metadata }), request })}\n`));
  }
  const { account, tenant } = callerOf(exchange);
  return withHold(parts.services, account, async (hold) => {
    const facts = { purpose: resultsPurpose, name: 'requests', lifetimeMs: null, hold };
    return (await (await parts.files()).create(tenant, facts, held(lines, hold))).id;
  });
}

async function found(parts: GoogleBatchesParts, tenant: string, id: string): Promise<Batch | Failure> {
  const batch = await (await parts.batches()).find(tenant, 'gemini', id);
  return batch ?? batchNotFound(`batches/${id.slice(0, 80)}`);
}

async function listed(parts: GoogleBatchesParts, { tenant, query }: StoredCall): Promise<JsonObject | Failure> {
  const limit = wholeOf(query, 'pageSize', 1_000) ?? 50;
  if (isFailure(limit)) return limit;
  const after = pageTokenIn(query, 'genbatch_');
  if (isFailure(after)) return after;
  const selection = { tenant, format: 'gemini', order: 'desc', after, limit: limit + 1 } as const;
  const batches = await (await parts.batches()).list(selection);
  const page = batches.slice(0, limit);
  const last = page.at(-1);
  return {
    operations: await Promise.all(page.map((batch) => operationOf(parts, batch, 'facts'))),
    ...(batches.length > limit && last !== undefined && { nextPageToken: last.id }),
  };
}

/** `whole`: with the results of a batch whose requests came inline. */
async function operationOf(parts: GoogleBatchesParts, batch: Batch, form: 'facts' | 'whole'): Promise<JsonObject> {
  const { id, ending, total, errored, createdMs, endedMs, errors, endpoint, gemini: facts } = batch;
  const kind = endpoint === geminiEmbeddingsPath ? 'EmbedContentBatch' : 'GenerateContentBatch';
  const succeeded = succeededSoFar(batch);
  const output = ending === null ? null : await outputOf(parts, batch, form);
  const [fault] = errors;
  return {
    name: `batches/${id}`,
    metadata: {
      '@type': `type.googleapis.com/google.ai.generativelanguage.v1main.${kind}`,
      name: `batches/${id}`,
      model: `models/${facts?.model ?? ''}`,
      displayName: facts?.displayName ?? '',
      state: stateOf(batch),
      createTime: new Date(createdMs).toISOString(),
      updateTime: new Date(endedMs ?? parts.services.clock.wallMs()).toISOString(),
      ...(endedMs !== null && { endTime: new Date(endedMs).toISOString() }),
      batchStats: {
        requestCount: String(total ?? 0),
        successfulRequestCount: String(succeeded),
        failedRequestCount: String(errored),
        pendingRequestCount: String(Math.max(0, (total ?? 0) - succeeded - errored)),
      },
      ...(output !== null && { output }),
    },
    done: ending !== null,
    ...(ending === 'failed'
      ? { error: { code: 3, message: fault?.message ?? 'The batch failed.' } }
      : output !== null && { response: output }),
  };
}

function stateOf({ ending, countedMs }: Batch): string {
  const word = ending === 'completed' ? 'succeeded' : (ending ?? (countedMs === null ? 'pending' : 'running'));
  return `BATCH_STATE_${word.toUpperCase()}`;
}

async function outputOf(
  { files }: GoogleBatchesParts,
  { tenant, outputFile, inputFile, endpoint, gemini: facts }: Batch,
  form: 'facts' | 'whole',
): Promise<JsonObject | null> {
  if (outputFile === null) return null;
  const named = { responsesFile: `files/${fileNameOf(outputFile)}` };
  if (facts?.input !== 'inline') return named;
  if (form === 'facts') return null;
  const stored = await files();
  const [results, requests] = [await stored.find(tenant, outputFile), await stored.find(tenant, inputFile)];
  if (results === null || results.bytes > inlineBytesMax) return results === null ? null : named;
  const metadata = requests === null ? [] : (await linesIn(stored, requests)).map((line) => line.metadata);
  const answers = (await linesIn(stored, results)).map(({ key, response, error }) => {
    const ofLine = metadata[Number(key)];
    return {
      ...(isObject(response) ? { response: inlined(response, endpoint) } : { error: error ?? null }),
      ...(ofLine != null && { metadata: ofLine }),
    };
  });
  return { inlinedResponses: { inlinedResponses: answers } };
}

/** An answer as an operation holds it: of an embedding, with its count of tokens. */
function inlined(response: JsonObject, endpoint: string): JsonObject {
  const { usageMetadata: usage } = response;
  if (endpoint !== geminiEmbeddingsPath || !isObject(usage) || usage.promptTokenCount == null) return response;
  return { ...response, tokenCount: String(usage.promptTokenCount) };
}

async function linesIn(files: StoredFiles, file: StoredFile): Promise<JsonObject[]> {
  const lines: JsonObject[] = [];
  let chars = 0;
  for (const line of (await text(files.read(file))).split('\n')) {
    if (line !== '') lines.push(JSON.parse(line) as JsonObject);
    chars += line.length;
    if (chars < turnChars) continue;
    chars = 0;
    await nextTurn();
  }
  return lines;
}
