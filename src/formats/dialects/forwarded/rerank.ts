import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { plainDocuments } from '../../neutral/plain-documents.ts';
import { estimatedTokens, reportedCost, reportedCount, type Usage, type WithCost } from '../../neutral/usage.ts';
import { arrayOf, boolean, integerIn, object, string, textOr } from '../../neutral/value-checks.ts';
import type { UsageOf } from '../dialect.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { neutralUsage } from '../openai-chat/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { readUnstreamed, schemaBesideModel } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

/**
 * Documents in the order in which they answer a query: Cohere's format, which Jina, vLLM and others took over, and
 * Voyage's, which has other words for the same.
 */
export const rerank: ForwardedEndpoint = {
  id: 'rerank',
  cost: 1,
  path: '/v1/rerank',
  summary: 'Order documents by how well they answer a query',
  readRequest(raw, body, scan) {
    const read = readRanking(raw, body, scan);
    if (isFailure(read)) return read;
    const { forward } = read;
    const answerShape = {
      count: Array.isArray(body.documents) ? body.documents.length : null,
      topN: [body.top_n, body.top_k].find((most) => typeof most === 'number') ?? null,
      documents: body.return_documents === true && Array.isArray(body.documents) ? body.documents : null,
    };
    const texts = plainDocuments(body);
    const members = { members: { documents: texts }, losses: [] };
    return {
      ...read,
      answerShape,
      // Some services refuse the two, and others send texts unasked: the caller gets the texts of its request.
      forward: (target) =>
        forward({
          ...(target.rename.top_n === 'top_k' ? asVoyage(body, target) : asCohere(body, target)),
          ...(texts !== null && { fits: [() => members, ...(target.fits ?? [])] }),
        }),
    };
  },
  requestSchema: () =>
    schemaBesideModel(
      {
        query: string,
        documents: arrayOf(textOr(object), 1, Number.POSITIVE_INFINITY, 'texts'),
        top_n: integerIn(1, Number.MAX_SAFE_INTEGER),
        top_k: integerIn(1, Number.MAX_SAFE_INTEGER),
        truncation: boolean,
        return_documents: boolean,
      },
      {},
    ),
  readInPassing: ({ answerShape: { count = null } = {}, usageOf } = {}) =>
    readWholeInPassing((body) => faultInRanking(body) ?? faultInIndexes(body, count), usageIn(usageOf)),
  shape: rankingOf,
};

const readRanking = readUnstreamed((raw) => estimatedTokens(raw.length));

function withoutDocuments(target: ForwardTarget, others: readonly string[]): ForwardTarget {
  return { ...target, without: [...(target.without ?? []), 'return_documents', 'rank_fields', ...others] };
}

/** `truncation` is Voyage's alone. */
function asVoyage({ truncation }: JsonObject, target: ForwardTarget): ForwardTarget {
  if (truncation !== true || !target.omit.includes('truncation')) return withoutDocuments(target, []);
  return withoutDocuments({ ...target, omit: target.omit.filter((name) => name !== 'truncation') }, ['truncation']);
}

/** Voyage's words in Cohere's. By default, every service cuts texts to what its model reads. */
function asCohere({ top_n: topN, top_k: topK, truncation }: JsonObject, target: ForwardTarget): ForwardTarget {
  const isRenamed = (topK ?? null) !== null && (topN ?? null) === null;
  return {
    ...withoutDocuments(target, [
      ...(isRenamed || topK === undefined ? [] : ['top_k']),
      ...(truncation === true ? ['truncation'] : []),
    ]),
    omit: truncation === false ? [...target.omit, 'truncation'] : target.omit,
    rename: { ...target.rename, ...(isRenamed && { top_k: 'top_n' }) },
  };
}

/**
 * Cohere's shape of an answer: `results` of `{index, relevance_score, document?}`, the best first, and what else the
 * service says. Voyage's clients read `data`, where documents are texts, and `usage`. Together's and Cohere's of the AI
 * SDK demand each count and `meta`. Ranks that are unreadable stay as they are.
 */
function rankingOf(answer: JsonValue, { topN, documents }: JsonObject, inputTokens: number): JsonObject {
  const { data: _, object: __, results: ___, ...others } = isObject(answer) ? answer : {};
  const list = listIn(answer) ?? [];
  const results: JsonObject[] = [];
  for (const item of list) {
    const rank = rankIn(item);
    if (rank === null) return { ...others, results: list };
    const document = Array.isArray(documents) ? documents[rank.index] : undefined;
    results.push({
      index: rank.index,
      relevance_score: rank.score,
      ...(document !== undefined && { document: typeof document === 'string' ? { text: document } : document }),
    });
  }
  results.sort((one, other) => (other.relevance_score as number) - (one.relevance_score as number));
  const best = typeof topN === 'number' && topN > 0 ? results.slice(0, topN) : results;
  const data = best.map((rank) => (isObject(rank.document) ? { ...rank, document: rank.document.text ?? null } : rank));
  const { inputTokens: reported, outputTokens: completion_tokens = 0 } = usageIn()(others) ?? {};
  const prompt_tokens = reported || inputTokens;
  const counts = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  return { object: 'list', meta: {}, ...others, usage: { ...counts, ...objectIn(others.usage) }, results: best, data };
}

/** Voyage's servers call the list `data`; SGLang's answer is the list. */
function listIn(answer: unknown): JsonValue[] | undefined {
  if (Array.isArray(answer)) return answer as JsonValue[];
  return isObject(answer) ? members.map((name) => answer[name]).find(Array.isArray) : undefined;
}

/** SGLang says `score`. */
function rankIn(item: JsonValue): TextRank | null {
  if (!isObject(item)) return null;
  const { index, relevance_score: score = item.score } = item;
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0) return null;
  return typeof score === 'number' && Number.isFinite(score) ? { index, score } : null;
}

/** The same for a reader of the ranks of `count` texts: an answer with unreadable ranks is a fault. */
export function rerankOf(count: number): ForwardedEndpoint {
  const faultIn = (body: unknown) =>
    faultInRanking(body) ??
    (ranksIn(body, count) === null ? fault('malformed', 'answered no ranks of the texts') : null);
  return { ...rerank, readInPassing: (options) => readWholeInPassing(faultIn, usageIn(options?.usageOf)) };
}

export interface TextRank {
  /** Index of the text in the request. */
  index: number;
  score: number;
}

/** Ranks of at least one of `count` texts, each once at most, in the given order; null for any other answer. */
export function ranksIn(body: unknown, count: number): TextRank[] | null {
  const ranks = new Map<number, TextRank>();
  for (const item of listIn(body) ?? []) {
    const rank = rankIn(item);
    if (rank === null || rank.index >= count || ranks.has(rank.index)) return null;
    ranks.set(rank.index, rank);
  }
  return ranks.size === 0 ? null : [...ranks.values()];
}

const members = ['results', 'data'];

function faultInRanking(body: unknown): Fault | null {
  return Array.isArray(body) && body.length > 0 ? null : faultInList(body, members, 0);
}

/** Ranks are for `count` texts, each once. Unreadable ones are nobody's to judge. */
function faultInIndexes(body: unknown, count: JsonValue): Fault | null {
  const ranks = (listIn(body) ?? []).map(rankIn).filter((rank) => rank !== null);
  const known = new Set(ranks.map(({ index }) => index));
  const isBeyond = typeof count === 'number' && ranks.some(({ index }) => index >= count);
  return isBeyond || known.size < ranks.length ? fault('malformed', 'answered ranks of other texts') : null;
}

/** Jina, vLLM and Together tell tokens in `usage`, Cohere in `meta`, or searches alone; OpenRouter both. */
const usageIn =
  (usageOf?: UsageOf) =>
  (answer: JsonObject): Usage | null => {
    const wire = usageOf?.(answer) ?? answer.usage;
    const counted = neutralUsage(wire) ?? usageOfMeta(answer.meta);
    // Texts are no 0 tokens: such a server counts nothing.
    const tokens = counted?.inputTokens || counted?.outputTokens ? counted : null;
    const searchUnits = searchesOf(wire) ?? searchesOf(objectIn(answer.meta).billed_units);
    if (searchUnits === null) return tokens;
    const usage: Usage = { ...(tokens ?? { inputTokens: 0, outputTokens: 0 }), searchUnits };
    Object.assign(usage, (objectIn(wire) as WithCost)[reportedCost]);
    return usage;
  };

function usageOfMeta(meta: JsonValue | undefined): Usage | null {
  if (!isObject(meta)) return null;
  for (const counts of [meta.tokens, meta.billed_units]) {
    if (!isObject(counts)) continue;
    const { input_tokens: prompt_tokens = null, output_tokens: completion_tokens = null, total_tokens = null } = counts;
    const usage = neutralUsage({ prompt_tokens, completion_tokens, total_tokens });
    if (usage !== null) return usage;
  }
  return null;
}

function searchesOf(counts: JsonValue | undefined): number | null {
  return reportedCount(objectIn(counts).search_units);
}
