import { isObject, type JsonObject } from '../../kernel/json.ts';
import { json, type LocalFingerprint, objectIn, rowsOf, textIn } from './local-fingerprint.ts';
import type { ProbeAnswer } from './probe-get.ts';

/** stable-diffusion.cpp has no sums of its models, and says this one of all. */
const sdServerHash = '8888888888';

/** Servers of models that speak, write down speech, draw. */
export const mediaFingerprints: readonly LocalFingerprint[] = [
  {
    type: 'kokoro',
    title: 'Kokoro-FastAPI',
    use: 'provider',
    defaultPorts: [8_880],
    basePath: '/v1',
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
    use: 'provider',
    defaultPorts: [8_000],
    basePath: '/v1',
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
    use: 'provider',
    defaultPorts: [7_860],
    basePath: '',
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
    use: 'provider',
    defaultPorts: [1_234],
    basePath: '',
    paths: ['/sdapi/v1/options', '/sdapi/v1/sd-models'],
    recognise([options, models]) {
      const said = objectIn(options);
      const rows = checkpoints(models);
      if (said?.sd_model_checkpoint === undefined || said.samples_format === undefined || rows === null) return null;
      const isIts = rows.length > 0 && rows.every((row) => row.hash === sdServerHash);
      return isIts ? { list: rows, note: null } : null;
    },
  },
];

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
