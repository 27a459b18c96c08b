import { isObject, type JsonObject } from '../../kernel/json.ts';
import { json, type LocalFingerprint, objectIn, ownedBy, rowsOf } from './local-fingerprint.ts';

/** Servers of models that chat or embed. */
export const textFingerprints: readonly LocalFingerprint[] = [
  {
    type: 'ollama',
    title: 'Ollama',
    use: 'provider',
    defaultPorts: [11_434],
    basePath: '/v1',
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
    title: 'llama.cpp',
    use: 'provider',
    defaultPorts: [8_080],
    basePath: '/v1',
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
    title: 'LM Studio',
    use: 'provider',
    defaultPorts: [1_234],
    basePath: '/v1',
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
    title: 'vLLM',
    use: 'provider',
    defaultPorts: [8_000],
    basePath: '/v1',
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
  {
    type: 'sglang',
    title: 'SGLang',
    use: 'provider',
    defaultPorts: [30_000],
    basePath: '/v1',
    paths: ['/v1/models', '/get_model_info'],
    recognise([models, info]) {
      const list = json(models);
      const rows = ownedBy(list, 'sglang');
      if (rows === null) return null;
      const tells = typeof objectIn(info)?.model_path === 'string';
      return tells || rows.some((row) => typeof row.max_model_len === 'number') ? { list, note: null } : null;
    },
  },
  {
    type: 'localai',
    title: 'LocalAI',
    use: 'provider',
    defaultPorts: [8_080],
    basePath: '/v1',
    // The first is open by design, also where the rest asks for a key.
    paths: ['/.well-known/localai.json', '/v1/models'],
    recognise([about, models]) {
      const said = objectIn(about);
      if (said === null || typeof said.version !== 'string') return null;
      if (!isObject(said.endpoints) && !Array.isArray(said.endpoints)) return null;
      if (!isObject(said.capabilities) && !Array.isArray(said.capabilities)) return null;
      if (models?.status === 401) return { list: null, note: 'it asks for a key: set api_key' };
      const list = json(models);
      return rowsOf(list, 'data') === null ? null : { list, note: null };
    },
  },
  {
    type: 'tei',
    title: 'Text Embeddings Inference',
    use: 'provider',
    defaultPorts: [8_080, 3_000],
    basePath: '',
    paths: ['/info'],
    recognise([info]) {
      const list = objectIn(info);
      if (typeof list?.model_id !== 'string' || typeof list.max_client_batch_size !== 'number') return null;
      const isModel = isObject(list.model_type) || typeof list.model_type === 'string';
      return isModel ? { list, note: null } : null;
    },
  },
  {
    type: 'infinity',
    title: 'Infinity',
    use: 'provider',
    defaultPorts: [7_997],
    basePath: '',
    paths: ['/models'],
    recognise([models]) {
      const list = json(models);
      const rows = ownedBy(list, 'infinity');
      const isIts = rows?.every((row) => isObject(row.stats) && typeof row.backend === 'string') ?? false;
      return isIts ? { list, note: null } : null;
    },
  },
];
