import { type Fault, fault } from '../../formats/neutral/outcome.ts';
import type { Clock } from '../../kernel/clock.ts';
import { parsedJson } from '../../kernel/json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { askEngine } from './ask-engine.ts';
import { faultOfAnswer } from './engine-fault.ts';
import { mergeHits, type SearchHit } from './merge-hits.ts';
import type { EngineSettings, SearchEngine, SearchQuery } from './search-engine.ts';

export interface QueryParts {
  transport: Transport;
  clock: Clock;
  /** Removes known secrets, and what looks like one, from an engine's words. */
  scrub(message: string, known: { secrets: readonly string[]; hosts: readonly string[] }): string;
}

export type EngineOutcome = { class: 'ok'; hits: readonly SearchHit[]; warnings: readonly string[] } | Fault;

/** One query to one engine, once. Never rejects. */
export async function queryEngine(
  parts: QueryParts,
  { driver, settings }: { driver: SearchEngine; settings: EngineSettings },
  query: SearchQuery,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<EngineOutcome> {
  const request = driver.encode(query, settings);
  if ('cannot' in request) return fault('caller_fault', request.cannot, 400);
  const answer = await askEngine(parts.transport, request, timeoutMs, signal);
  if (answer.kind === 'failed') return fault(answer.class, answer.message);
  if (answer.status !== 200) {
    const known = {
      secrets: [settings.apiKey].filter((key) => key !== ''),
      hosts: [request.url.host, request.url.hostname],
    };
    return faultOfAnswer(driver, answer, parts.clock.wallMs(), (message) => parts.scrub(message, known));
  }
  const decoded = driver.decode(parsedJson(answer.body.toString('utf8')), query);
  if (decoded === null) return fault('malformed', 'its answer does not follow its API', 200);
  const warnings = decoded.warning === undefined ? [] : [decoded.warning];
  return { class: 'ok', hits: mergeHits(decoded.hits, query, request.skip), warnings };
}
