import { ToolFields } from '../tool-fields.ts';
import type { ConfiguredEngine } from './engine-targets.ts';
import { type QueryParts, queryEngine } from './query-engine.ts';
import { queryOf, readSearch } from './read-search.ts';

/** The answer of an engine to one query, right now. */
export interface EngineLook {
  /** Its name as callers write it. */
  engine: string;
  verdict: 'ok' | 'bad credential' | 'unreachable' | 'failed';
  /** Without secrets; '' when all is well. */
  message: string;
  hits: number;
  ms: number;
}

const lookTimeoutMs = 10_000;

/**
 * Asks each engine one query, all at the same time: there is no other way to know that a key is accepted, and it costs
 * one search of each plan. Health learns nothing of it. Never rejects.
 */
export function lookAtEngines(parts: QueryParts, engines: readonly ConfiguredEngine[]): Promise<EngineLook[]> {
  return Promise.all(
    engines.flatMap(({ name, driver, settings }) =>
      driver === null ? [] : [lookAt(parts, name, { driver, settings })],
    ),
  );
}

async function lookAt(parts: QueryParts, name: string, engine: Parameters<typeof queryEngine>[1]): Promise<EngineLook> {
  const { clock } = parts;
  const startedMs = clock.monotonicMs();
  const query = queryOf(readSearch(new ToolFields({ query: 'test', limit: 1 }), []), 'web', clock.wallMs());
  const { signal } = new AbortController();
  const outcome = await queryEngine(parts, engine, query, { timeoutMs: lookTimeoutMs, signal });
  const ms = Math.round(clock.monotonicMs() - startedMs);
  if (outcome.class === 'ok') {
    return { engine: name, verdict: 'ok', message: outcome.warnings.join(' '), hits: outcome.hits.length, ms };
  }
  const verdict =
    outcome.class === 'bad_credential' ? 'bad credential' : outcome.status === null ? 'unreachable' : 'failed';
  return { engine: name, verdict, message: outcome.message, hits: 0, ms };
}
