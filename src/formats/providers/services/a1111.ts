import { isObject } from '../../../kernel/json.ts';
import { imagesOfA1111 } from '../image-models.ts';
import { openAiQuirks } from '../openai-like.ts';
import type { DiscoveredModel, Provider } from '../provider.ts';
import { listedModelsMax } from '../read-model-list.ts';

/** Its loaded checkpoint, whatever that is: no other is asked for. */
const loaded: DiscoveredModel = { id: 'default', type: 'image' };

/** https://github.com/AUTOMATIC1111/stable-diffusion-webui/wiki/API, which Forge has too: only with `--api`. */
export const a1111: Provider = {
  id: 'a1111',
  title: 'Stable Diffusion web UI',
  dialect: 'openai-chat',
  baseUrl: 'http://127.0.0.1:7860',
  baseSuffixes: ['/sdapi/v1/txt2img', '/sdapi/v1'],
  auth: 'none',
  envKey: null,
  local: true,
  paths: { chat: null, models: '/sdapi/v1/sd-models' },
  headers: {},
  quirks: openAiQuirks,
  errors: [],
  images: imagesOfA1111,
  listModels,
};

/** https://github.com/leejet/stable-diffusion.cpp: the same paths, for the one model that it was started with. */
export const sdServer: Provider = {
  ...a1111,
  id: 'sd-server',
  title: 'stable-diffusion.cpp',
  baseUrl: 'http://127.0.0.1:1234',
  listModels: () => [loaded],
};

/** `[{title, model_name, hash}]`: a checkpoint goes by its name. */
function listModels(body: unknown): DiscoveredModel[] {
  if (!Array.isArray(body)) return [];
  const named = body.slice(0, listedModelsMax).flatMap((row: unknown): DiscoveredModel[] => {
    const id = isObject(row) ? row.model_name : undefined;
    return typeof id === 'string' && /^\w[\w.+-]{0,199}$/.test(id) ? [{ id, type: 'image' }] : [];
  });
  return [loaded, ...named];
}
