import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { listOfTexts, numberOf, type Values } from './plain-values.ts';

/** LiteLLM's own in memory, in seconds, and the longest of ours. */
const ttlDefaultS = 60;
const ttlMaxS = 30 * 86_400;

/** Types of `supported_call_types` that a model's cache here serves. */
const callsOf: Readonly<Record<string, readonly string[]>> = {
  chat: ['completion', 'acompletion', 'responses', 'aresponses', 'anthropic_messages'],
  embedding: ['embedding', 'aembedding'],
  rerank: ['rerank', 'arerank'],
};

/** Turns LiteLLM's one cache into that of each model. It shared answers among all callers; ours is one key's. */
export function addCache(values: Values, models: Record<string, JsonObject>, root: JsonObject): void {
  const { notes } = values;
  const at = (name: string) => ['litellm_settings', 'cache_params', name];
  const lite = objectIn(root.litellm_settings);
  const path = ['litellm_settings', 'cache'];
  if (lite.cache !== true) {
    if (lite.cache_params !== undefined && lite.cache_params !== null) {
      notes.add(['litellm_settings', 'cache_params'], 'not carried over: the cache is off');
    }
    return;
  }
  const params = objectIn(lite.cache_params);
  if (params.mode === 'default_off') {
    notes.add(at('mode'), 'not carried over: callers cannot turn a cache on here: an operator sets models.NAME.cache');
    return;
  }
  const named = ['ttl', 'default_in_redis_ttl', 'default_in_memory_ttl'].find((name) => params[name] != null);
  const given = named === undefined ? null : numberOf(values, params[named], at(named));
  const ttlS = Math.max(1, Math.round(given ?? ttlDefaultS));
  const calls = listOfTexts(params.supported_call_types);
  for (const model of Object.values(models)) {
    const served = callsOf[typeof model.type === 'string' ? model.type : 'chat'];
    if (served === undefined || (calls.length > 0 && !served.some((call) => calls.includes(call)))) continue;
    model.cache = { ttl: `${Math.min(ttlS, ttlMaxS)}s` };
  }
  notes.add(
    path,
    'carried over as models.NAME.cache, whose answers one key shares with itself; scope: all shares them among everybody, as LiteLLM does',
  );
  if (ttlS > ttlMaxS) notes.add(at(named ?? 'ttl'), 'changed: an answer is kept for 30 days at the most');
  if (/semantic/.test(String(params.type))) {
    notes.add(at('type'), 'carried over as a cache of identical requests only (docs/caching.md)');
  }
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && !read.has(name)) notes.add(at(name), `not carried over: ${others[name] ?? store}`);
  }
}

const read = new Set(['type', 'mode', 'ttl', 'default_in_redis_ttl', 'default_in_memory_ttl', 'supported_call_types']);
const store = 'storage.cache keeps answers in a file, or in the Redis of storage.state';
const others: Readonly<Record<string, string>> = {
  namespace: 'answers are apart by key, account or plan',
  similarity_threshold: 'the measured error decides here, not a threshold',
};
