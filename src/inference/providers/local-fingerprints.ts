import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { ProbeAnswer } from './probe-get.ts';

export type LocalServerType = 'ollama' | 'llamacpp' | 'lmstudio' | 'vllm';

/**
 * How one kind of server is told from everything else on its port: by two facts of its own that no other server
 * shows together. A port alone proves nothing: 8080, 8000 and 1234 are each used by several programs.
 */
export interface LocalFingerprint {
  type: LocalServerType;
  defaultPort: number;
  /** All are fetched; `recognise` gets the answers in this order. */
  paths: readonly string[];
  recognise(answers: readonly (ProbeAnswer | null)[]): Recognised | null;
}

export interface Recognised {
  /** The body of its list of models, for `readModelList`. */
  list: unknown;
  /** What to tell the operator beside the finding; null when it can simply be used. */
  note: string | null;
}

export const localFingerprints: readonly LocalFingerprint[] = [
  {
    type: 'ollama',
    defaultPort: 11_434,
    paths: ['/', '/api/version', '/api/tags'],
    recognise([root, version, tags]) {
      if (root?.status !== 200 || root.body.trim() !== 'Ollama is running') return null;
      const said = json(version);
      if (!isObject(said) || typeof said.version !== 'string' || !/^\d+\.\d+/.test(said.version)) return null;
      // Imitators show an empty digest; a server without a single model is still Ollama.
      const list = json(tags);
      if (!isObject(list) || !Array.isArray(list.models)) return null;
      if (!list.models.every((row) => isObject(row) && typeof row.digest === 'string' && row.digest !== ''))
        return null;
      return { list, note: list.models.length === 0 ? 'it has no model yet: ollama pull <model>' : null };
    },
  },
  {
    type: 'llamacpp',
    defaultPort: 8_080,
    paths: ['/props', '/v1/models', '/health'],
    recognise([props, models, health]) {
      const list = json(models);
      const loading = health?.status === 503 && /loading model/i.test(health.body);
      const said = json(props);
      const shows = isObject(said) && said.build_info !== undefined && typeof said.total_slots === 'number';
      if (shows && ownedBy(list, 'llamacpp') !== null) return { list, note: null };
      // While it loads, every path but the list answers 503 with these very words.
      if (loading && ownedBy(list, 'llamacpp') !== null) return { list, note: 'it is still loading its model' };
      return null;
    },
  },
  {
    type: 'lmstudio',
    defaultPort: 1_234,
    paths: ['/lmstudio-greeting', '/api/v0/models', '/api/v1/models'],
    recognise([greeting, v0, v1]) {
      const greets = isObject(json(greeting)) && (json(greeting) as JsonObject).lmstudio === true;
      const old = rowsOf(json(v0), 'data');
      if (old?.every((row) => typeof row.state === 'string' && typeof row.publisher === 'string')) {
        if (greets || old.some((row) => typeof row.compatibility_type === 'string'))
          return { list: json(v0), note: null };
      }
      const current = rowsOf(json(v1), 'models');
      if (current?.every((row) => typeof row.key === 'string' && Array.isArray(row.loaded_instances))) {
        if (greets || current.some((row) => typeof row.publisher === 'string')) return { list: json(v1), note: null };
      }
      if (greets && (v1?.status === 401 || v0?.status === 401)) {
        return { list: null, note: 'it asks for a token: set api_key to an LM Studio API token' };
      }
      return null;
    },
  },
  {
    type: 'vllm',
    defaultPort: 8_000,
    paths: ['/v1/models', '/version'],
    recognise([models, version]) {
      const list = json(models);
      const rows = ownedBy(list, 'vllm');
      if (rows === null) return null;
      const said = json(version);
      const tells = isObject(said) && typeof said.version === 'string';
      if (!tells && !rows.some((row) => typeof row.max_model_len === 'number')) return null;
      return { list, note: null };
    },
  },
];

function json(answer: ProbeAnswer | null | undefined): unknown {
  if (answer?.status !== 200) return undefined;
  try {
    return JSON.parse(answer.body);
  } catch {
    return undefined;
  }
}

function rowsOf(body: unknown, key: 'data' | 'models'): JsonObject[] | null {
  if (!isObject(body)) return null;
  const rows = body[key];
  return Array.isArray(rows) && rows.every(isObject) ? rows : null;
}

/** The rows of an OpenAI list if there are any and all belong to `owner`. */
function ownedBy(body: unknown, owner: string): JsonObject[] | null {
  const rows = rowsOf(body, 'data');
  return rows !== null && rows.length > 0 && rows.every((row) => row.owned_by === owner) ? rows : null;
}
