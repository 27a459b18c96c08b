import type { Admission, Claim, Settlement } from '../../../books/metering/admission.ts';
import type { ExpectedUse } from '../../../books/metering/batch-store.ts';
import { nanoUsd } from '../../../books/metering/counter-scope.ts';
import type { PartLeft } from '../../../books/metering/limits/limits-left.ts';
import { builtInData, keeping } from '../../../config/data-rules.ts';
import { usdOf } from '../../../formats/neutral/price.ts';
import { noteService, type Usage } from '../../../formats/neutral/usage.ts';
import type { BatchFacts } from '../../../formats/providers/provider.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, objectIn, parsedJson } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { Target } from '../../../routing/target.ts';
import type { UpstreamRequest } from '../../../upstream/transport/upstream-call.ts';
import type { Services } from '../../endpoints/services.ts';
import type { CallOwner } from '../../spine/call.ts';
import type { Job } from '../../spine/job.ts';
import { lineEndpoints } from '../line-endpoints.ts';
import { planForBatches } from './pinned-plan.ts';

/** A line as a provider's batch API takes it. */
export interface PreparedLine {
  /** Where it goes: the same for all lines of one batch there. */
  place: {
    provider: string;
    format: BatchFacts['format'];
    credential: string;
    /** `provider/model`. */
    target: string;
    model: string;
    /** The vendor's name for the endpoint. */
    url: string;
    /** The request's `anthropic-beta`; null: none. */
    beta: string | null;
    alias: string;
    tier: string | null;
    /** Part of the usual price. */
    share: number;
  };
  /** JSON in one line. */
  body: string;
  /** How many of the vendor's lines it counts as: an input each of an embedding. */
  weight: number;
  /** Most lines and bytes of a batch there. */
  limits: Pick<BatchFacts, 'linesMax' | 'bytesMax'>;
  costMilli: number;
  expected: ExpectedUse;
  /** Shares of the budgets of its end user and tag that are left for all lines of a batch there. */
  parts: readonly PartLeft[];
}

/** Length of an answer where the request does not say how long it may be. */
const outputTokensUsual = 1_000;

/**
 * Runs a line up to the point where it would be sent, and says what would be sent: the same reading, routing and
 * conversion as those of a request that is answered at once. Nothing is held, sent or charged. Null: no batch of a
 * provider takes it, or it would be refused.
 */
export async function prepareLine(
  services: Services,
  endpoint: string,
  body: Buffer,
  owner: CallOwner,
): Promise<PreparedLine | null> {
  const leaving = new AbortController();
  const sent: UpstreamRequest[] = [];
  let claim: Claim | null = null;
  let job: Job | null = null;
  let parts: readonly PartLeft[] | null = null;
  // What is kept here may be gone when the answer comes, and nobody could read the line any more.
  let needsStoredItems = false;
  const noting =
    <A extends unknown[], R>(find: (...args: A) => R) =>
    (...args: A): R => {
      needsStoredItems = true;
      return find(...args);
    };
  const { transport, uploads, responses, items } = services;
  const given: Services = {
    ...services,
    uploads: { ...uploads, find: uploads.find === null ? null : noting(uploads.find) },
    responses: { ...responses, chain: noting(responses.chain), conversation: noting(responses.conversation) },
    items: { ...items, find: noting(items.find) },
    transport: {
      ...transport,
      send(request) {
        sent.push(request);
        // The sender must have the call before it is ended.
        setImmediate(() => leaving.abort());
        return { abort() {}, pause() {}, resume() {} };
      },
    },
    admission: {
      ...services.admission,
      async reserve(claimed) {
        parts = await partsLeft(services.admission, claimed);
        claim = parts === null ? null : claimed;
        return reserveNothing(claimed);
      },
    },
    settlement: noSettlement,
  };
  const endpoints = lineEndpoints(given, (inner) => ({
    ...inner,
    async plan(snapshot, call, request) {
      const plan = await inner.plan(snapshot, call, request);
      // A provider keeps the lines of a batch. Each is then a request.
      const barred = snapshot.models.barred(call.principal, keeping(builtInData), 'batch');
      if (barred !== null) return barred;
      return isFailure(plan) ? plan : planForBatches(plan, snapshot);
    },
    trials(planned, made) {
      job = made;
      return inner.trials(planned, made);
    },
  }));
  await knownEntry(endpoints, endpoint)(given, owner, body, { signal: leaving.signal, batched: 'prepared' });
  const [request] = sent;
  if (needsStoredItems || request === undefined || sent.length > 1 || claim === null || job === null) return null;
  const prepared = preparedOf(services, request, claim, job);
  return prepared && { ...prepared, parts: parts ?? [] };
}

function preparedOf(
  services: Services,
  request: UpstreamRequest,
  claim: Claim,
  job: Job,
): Omit<PreparedLine, 'parts'> | null {
  const attempt = job.progress.attempts.at(-1);
  const target = job.query.targets.find((candidate) => candidate.target.id === attempt?.target)?.target;
  const connection = attempt && services.snapshots.current.providers.get(attempt.provider)?.connection;
  if (!attempt || !target || !connection?.batches || request.origin !== connection.origin) return null;
  const [path = ''] = request.path.split('?', 1);
  const url = path.startsWith(connection.basePath)
    ? connection.batches.urlOf(path.slice(connection.basePath.length))
    : null;
  const text = typeof request.body === 'string' || Buffer.isBuffer(request.body) ? String(request.body) : '';
  const body = parsedJson(text);
  if (url === null || !isObject(body) || body.stream === true) return null;
  const { alias, tier, costMilli } = claim;
  const { format, priceShare: share } = connection.batches;
  // Azure's older paths name the model themselves. A batch of Gemini names it for all lines.
  const named = 'model' in body || format === 'gemini' ? body : { model: attempt.model, ...body };
  const betaAt = request.headers.findIndex((name, at) => at % 2 === 0 && name === 'anthropic-beta');
  return {
    place: {
      provider: attempt.provider,
      credential: attempt.credential,
      target: attempt.target,
      model: attempt.model,
      format,
      url,
      beta: betaAt < 0 ? null : (request.headers[betaAt + 1] ?? null),
      alias,
      tier,
      share,
    },
    body: named === body && !/[\n\r]/.test(text) ? text : JSON.stringify(named),
    weight: Array.isArray(body.input) && path.endsWith('/embeddings') ? Math.max(1, body.input.length) : 1,
    limits: connection.batches,
    costMilli,
    expected: expectedOf(body, url, claim.inputTokensEstimate, target, services.clock.wallMs()),
  };
}

function expectedOf(body: JsonObject, url: string, inputTokens: number, target: Target, nowMs: number): ExpectedUse {
  const { max_tokens: chat, max_completion_tokens: completion, max_output_tokens: output, generationConfig } = body;
  const gemini = objectIn(generationConfig);
  const longest = [completion, output, chat, gemini.maxOutputTokens].find((tokens) => typeof tokens === 'number');
  const counts = [body.n, body.best_of, gemini.candidateCount].filter((count) => typeof count === 'number');
  const answers = Math.max(1, ...counts);
  const isText = /completions$|responses$|messages$|GenerateContent$/.test(url);
  const outputTokens = isText ? Math.max(0, longest ?? outputTokensUsual) * answers : 0;
  const usual: Usage = { inputTokens, outputTokens };
  const inTier = { ...usual };
  noteService(inTier, [body.service_tier, body.speed, body.inference_geo]);
  // The answer's tier is charged. A cheaper one that the request asks for may not be had.
  const usdNano = Math.max(...[usual, inTier].map((usage) => nanoUsd(usdOf(usage, target.price, nowMs))));
  return { tokens: countable(inputTokens + outputTokens), usdNano: countable(usdNano) };
}

/**
 * Shares that are left of the budgets of its user and tag; null: one of its user, tag or model is used up. What a batch
 * holds counts in the limits of the account and in budgets of models.
 */
async function partsLeft({ left }: Admission, { principal, alias, furtherModels = [], ...named }: Claim) {
  const { user = null, tag = null } = named;
  const { budgets, ...whole } = principal;
  if (budgets === undefined) return [];
  const parts = { user, tag, models: [alias, ...furtherModels] };
  const [within, without] = [await left(principal, parts), await left(whole, parts)];
  return within?.budget === 0 && without?.budget !== 0 ? null : (within?.parts ?? []);
}

/** Callers may allow more than any store can count. */
export function countable(amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, amount);
}

export const reserveNothing: Admission['reserve'] = async ({ requestId, principal, atMs }) => ({
  kind: 'reserved',
  requestId,
  costMilli: 0,
  held: { kind: 'held', requestId, account: principal.account, scopes: [], costMilli: 0, quotaMs: atMs, states: [] },
  headers: [],
  state: 'open',
});

/** Charges nothing: earlier charges stay. */
export const noSettlement: Settlement = { began() {}, settle: () => null };
