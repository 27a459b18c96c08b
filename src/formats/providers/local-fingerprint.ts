import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { ProbeAnswer } from './probe-get.ts';

export type LocalServerType =
  | 'ollama'
  | 'llamacpp'
  | 'lmstudio'
  | 'vllm'
  | 'sglang'
  | 'localai'
  | 'tei'
  | 'infinity'
  | 'kokoro'
  | 'speaches'
  | 'a1111'
  | 'sd-server'
  | 'comfyui'
  | 'searxng'
  | 'whispercpp';

export type LocalUse = 'provider' | 'search' | 'listed';

/**
 * How one kind of server differs from everything else on its port: two facts that no other server shows together. A
 * port alone proves nothing: 8080, 8000 and 1234 are each used by several programs.
 */
export interface LocalFingerprint {
  type: LocalServerType;
  title: string;
  /** `provider`: the provider of this type can use it; `search`: web search can; `listed`: it is only shown. */
  use: LocalUse;
  defaultPorts: readonly number[];
  /** Prefix of its API, as `base_url` ends. */
  basePath: '/v1' | '';
  /** All are fetched; `recognise` gets the answers in this order. */
  paths: readonly string[];
  recognise(answers: readonly (ProbeAnswer | null)[]): Recognised | null;
}

export interface Recognised {
  /** The body of its list of models, as its provider reads it; null where none could be had. */
  list: unknown;
  /** Remark for the operator; null when it can simply be used. */
  note: string | null;
  /** It cannot be used as it runs. */
  use?: 'listed';
}

export function json(answer: ProbeAnswer | null | undefined): unknown {
  if (answer?.status !== 200) return undefined;
  try {
    return JSON.parse(answer.body);
  } catch {
    return undefined;
  }
}

/** The answer as an object; null for anything else. */
export function objectIn(answer: ProbeAnswer | null | undefined): JsonObject | null {
  const body = json(answer);
  return isObject(body) ? body : null;
}

export function textIn(answer: ProbeAnswer | null | undefined): string {
  return answer?.status === 200 ? answer.body : '';
}

export function rowsOf(body: unknown, key: 'data' | 'models'): JsonObject[] | null {
  if (!isObject(body)) return null;
  const rows = body[key];
  return Array.isArray(rows) && rows.every(isObject) ? rows : null;
}

/** The rows of an OpenAI list if there are any and all belong to `owner`. */
export function ownedBy(body: unknown, owner: string): JsonObject[] | null {
  const rows = rowsOf(body, 'data');
  return rows !== null && rows.length > 0 && rows.every((row) => row.owned_by === owner) ? rows : null;
}
