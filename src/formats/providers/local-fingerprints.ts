import { isObject, type JsonObject } from '../../kernel/json.ts';
import { json, type LocalFingerprint, objectIn, ownedBy, rowsOf, textIn } from './local-fingerprint.ts';
import type { ProbeAnswer } from './probe-get.ts';

const asOpenAi = { use: 'provider', basePath: '/v1' } as const;
const atRoot = { use: 'provider', basePath: '' } as const;
const shown = { use: 'listed', basePath: '' } as const;

/** All servers that are looked for on this machine, in the order of reports. */
export const localFingerprints: readonly LocalFingerprint[] = [
  // Servers of models that chat or embed.
  {
    type: 'ollama',
    title: 'Ollama',
    ...asOpenAi,
    defaultPorts: [11_434],
    paths: ['/', '/api/version', '/api/tags'],
    recognise([root, version, tags]) {
      if (root?.status !== 200 || root.body.trim() !== 'Ollama is running') return null;
      const facts = json(version);
      if (!isObject(facts) || typeof facts.version !== 'string' || !/^\d+\.\d+/.test(facts.version)) return null;
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
    ...asOpenAi,
    defaultPorts: [8_080],
    paths: ['/props', '/v1/models', '/health'],
    recognise([props, models, health]) {
      const list = json(models);
      const loading = health?.status === 503 && /loading model/i.test(health.body);
      const facts = json(props);
      const shows = isObject(facts) && facts.build_info !== undefined && typeof facts.total_slots === 'number';
      if (shows && ownedBy(list, 'llamacpp') !== null) return { list, note: null };
      // While it loads, every path but the list answers 503 with these very words.
      if (loading && ownedBy(list, 'llamacpp') !== null) return { list, note: 'it is still loading its model' };
      return null;
    },
  },
  {
    type: 'lmstudio',
    title: 'LM Studio',
    ...asOpenAi,
    defaultPorts: [1_234],
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
    ...asOpenAi,
    defaultPorts: [8_000],
    paths: ['/v1/models', '/version'],
    recognise([models, version]) {
      const list = json(models);
      const rows = ownedBy(list, 'vllm');
      if (rows === null) return null;
      const facts = json(version);
      const hasVersion = isObject(facts) && typeof facts.version === 'string';
      if (!hasVersion && !rows.some((row) => typeof row.max_model_len === 'number')) return null;
      return { list, note: null };
    },
  },
  {
    type: 'sglang',
    title: 'SGLang',
    ...asOpenAi,
    defaultPorts: [30_000],
    paths: ['/v1/models', '/get_model_info'],
    recognise([models, info]) {
      const list = json(models);
      const rows = ownedBy(list, 'sglang');
      if (rows === null) return null;
      const hasModelPath = typeof objectIn(info)?.model_path === 'string';
      return hasModelPath || rows.some((row) => typeof row.max_model_len === 'number') ? { list, note: null } : null;
    },
  },
  {
    type: 'localai',
    title: 'LocalAI',
    ...asOpenAi,
    defaultPorts: [8_080],
    // The first is open by design, also where the rest asks for a key.
    paths: ['/.well-known/localai.json', '/v1/models'],
    recognise([about, models]) {
      const facts = objectIn(about);
      if (facts === null || typeof facts.version !== 'string') return null;
      if (!isObject(facts.endpoints) && !Array.isArray(facts.endpoints)) return null;
      if (!isObject(facts.capabilities) && !Array.isArray(facts.capabilities)) return null;
      if (models?.status === 401) return { list: null, note: 'it asks for a key: set api_key' };
      const list = json(models);
      return rowsOf(list, 'data') === null ? null : { list, note: null };
    },
  },
  {
    type: 'tei',
    title: 'Text Embeddings Inference',
    ...atRoot,
    defaultPorts: [8_080, 3_000],
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
    ...atRoot,
    defaultPorts: [7_997],
    paths: ['/models'],
    recognise([models]) {
      const list = json(models);
      const rows = ownedBy(list, 'infinity');
      const isIts = rows?.every((row) => isObject(row.stats) && typeof row.backend === 'string') ?? false;
      return isIts ? { list, note: null } : null;
    },
  },
  // Servers of models that speak, write down speech, draw.
  {
    type: 'kokoro',
    title: 'Kokoro-FastAPI',
    ...asOpenAi,
    defaultPorts: [8_880],
    paths: ['/health', '/v1/audio/voices', '/v1/models'],
    recognise([health, voices, models]) {
      if (objectIn(health)?.status !== 'healthy') return null;
      if (!voiceNames(voices).some((name) => /^af_\w+$/.test(name))) return null;
      // Older ones have no list: it goes by this name there too.
      const list = json(models);
      return { list: rowsOf(list, 'data') === null ? { data: [{ id: 'kokoro' }] } : list, note: null };
    },
  },
  {
    type: 'speaches',
    title: 'speaches',
    ...asOpenAi,
    defaultPorts: [8_000],
    paths: ['/health', '/api/ps', '/v1/models'],
    recognise([health, running, models]) {
      if (textIn(health).trim() !== 'OK') return null;
      const names = objectIn(running)?.models;
      if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) return null;
      const list = json(models);
      const isEmpty = (rowsOf(list, 'data') ?? []).length === 0;
      return { list, note: isEmpty ? 'it has no model yet: POST /v1/models/<model> brings one' : null };
    },
  },
  {
    type: 'a1111',
    title: 'Stable Diffusion web UI',
    ...atRoot,
    defaultPorts: [7_860],
    paths: ['/sdapi/v1/options', '/sdapi/v1/sd-models', '/'],
    recognise([options, models, root]) {
      const rows = checkpoints(models);
      if (objectIn(options)?.sd_model_checkpoint !== undefined && rows !== null) {
        if (rows.some((row) => row.hash === sdServerHash)) return null;
        return { list: rows, note: null };
      }
      const page = textIn(root);
      const isPage = /<title>\s*Stable Diffusion/i.test(page) && page.includes('gradio');
      return options?.status === 404 && isPage
        ? { list: null, note: 'its API is off: start it with --api', use: 'listed' }
        : null;
    },
  },
  {
    type: 'sd-server',
    title: 'stable-diffusion.cpp',
    ...atRoot,
    defaultPorts: [1_234],
    paths: ['/sdapi/v1/options', '/sdapi/v1/sd-models'],
    recognise([options, models]) {
      const facts = objectIn(options);
      const rows = checkpoints(models);
      if (facts?.sd_model_checkpoint === undefined || facts.samples_format === undefined || rows === null) return null;
      const isIts = rows.length > 0 && rows.every((row) => row.hash === sdServerHash);
      return isIts ? { list: rows, note: null } : null;
    },
  },
  // Servers that are not model providers: they are shown to people, and web search uses a SearXNG.
  {
    type: 'comfyui',
    title: 'ComfyUI',
    ...shown,
    defaultPorts: [8_188],
    paths: ['/system_stats', '/queue'],
    recognise([stats, queue]) {
      const facts = objectIn(stats);
      const isIts = isObject(facts?.system) && typeof facts.system.comfyui_version === 'string';
      if (!isIts || !Array.isArray(facts.devices)) return null;
      // Its newest versions may ask who looks at the queue.
      if (queue?.status === 200 && !Array.isArray(objectIn(queue)?.queue_running)) return null;
      return { list: null, note: 'it draws with workflows of its owner, which no endpoint of Culvert can ask for' };
    },
  },
  {
    type: 'searxng',
    title: 'SearXNG',
    use: 'search',
    defaultPorts: [8_888, 8_080],
    basePath: '',
    // Without a question nothing is searched: 400 where JSON is answered, 403 where it is not.
    paths: ['/config', '/', '/search?format=json'],
    recognise([config, root, search]) {
      const facts = objectIn(config);
      const isInstance = typeof facts?.instance_name === 'string' && Array.isArray(facts.engines);
      // Its list of engines may be longer than a probe reads.
      const isPage = /<meta[^>]+name="generator"[^>]+content="searxng/i.test(textIn(root));
      if (!isInstance && !isPage) return null;
      if (!isInstance && search?.status !== 400 && search?.status !== 403) return null;
      if (search?.status !== 403) return { list: null, note: null };
      return { list: null, note: "it refuses JSON until 'search.formats' in its settings.yml has json", use: 'listed' };
    },
  },
  {
    type: 'whispercpp',
    title: 'whisper.cpp',
    ...shown,
    defaultPorts: [8_080],
    paths: ['/'],
    recognise([root]) {
      const page = textIn(root);
      if (!/<title>\s*whisper\.cpp server/i.test(page) || !page.includes('/inference')) return null;
      // A page is all that it shows of itself: its operator must say so.
      return {
        list: null,
        note: 'if it is, name it in culvert.yaml as a provider of type whispercpp with this base_url',
      };
    },
  },
];

/** stable-diffusion.cpp has no sums of its models, and says this one of all. */
const sdServerHash = '8888888888';

/** `{voices: […]}` of names or of `{id, name}`. */
function voiceNames(answer: ProbeAnswer | null | undefined): string[] {
  const voices = objectIn(answer)?.voices;
  if (!Array.isArray(voices)) return [];
  return voices.flatMap((voice) => {
    const name = isObject(voice) ? (voice.id ?? voice.name) : voice;
    return typeof name === 'string' ? [name] : [];
  });
}

function checkpoints(answer: ProbeAnswer | null | undefined): JsonObject[] | null {
  const rows = json(answer);
  const isList = Array.isArray(rows) && rows.every((row) => isObject(row) && typeof row.title === 'string');
  return isList ? rows : null;
}
