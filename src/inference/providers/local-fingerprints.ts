import { isObject } from '../../kernel/json.ts';
import { type LocalFingerprint, objectIn, textIn } from './local-fingerprint.ts';
import { mediaFingerprints } from './local-fingerprints-media.ts';
import { textFingerprints } from './local-fingerprints-text.ts';

/** What is no provider of models: people are told of it, and web search uses a SearXNG. */
const listedFingerprints: readonly LocalFingerprint[] = [
  {
    type: 'comfyui',
    title: 'ComfyUI',
    use: 'listed',
    defaultPorts: [8_188],
    basePath: '',
    paths: ['/system_stats', '/queue'],
    recognise([stats, queue]) {
      const said = objectIn(stats);
      const isIts = isObject(said?.system) && typeof said.system.comfyui_version === 'string';
      if (!isIts || !Array.isArray(said.devices)) return null;
      // Its newest versions may ask who looks at the queue.
      if (queue?.status === 200 && !Array.isArray(objectIn(queue)?.queue_running)) return null;
      return { list: null, note: 'it draws by workflows of its owner, which no endpoint here can ask for' };
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
      const said = objectIn(config);
      const tells = typeof said?.instance_name === 'string' && Array.isArray(said.engines);
      // Its list of engines may be longer than a probe reads.
      const isPage = /<meta[^>]+name="generator"[^>]+content="searxng/i.test(textIn(root));
      if (!tells && !isPage) return null;
      if (!tells && search?.status !== 400 && search?.status !== 403) return null;
      if (search?.status !== 403) return { list: null, note: null };
      return { list: null, note: "it refuses JSON until 'search.formats' of its settings.yml has json", use: 'listed' };
    },
  },
  {
    type: 'whispercpp',
    title: 'whisper.cpp',
    use: 'listed',
    defaultPorts: [8_080],
    basePath: '',
    paths: ['/'],
    recognise([root]) {
      const page = textIn(root);
      if (!/<title>\s*whisper\.cpp server/i.test(page) || !page.includes('/inference')) return null;
      // A page is all that it shows of itself: whoever started it must say so.
      return {
        list: null,
        note: 'if it is, name it in culvert.yaml as a provider of type whispercpp with this base_url',
      };
    },
  },
];

/** Everything that is looked for on this machine, in the order in which it is told. */
export const localFingerprints: readonly LocalFingerprint[] = [
  ...textFingerprints,
  ...mediaFingerprints,
  ...listedFingerprints,
];
