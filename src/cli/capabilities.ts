import type { Alias } from '../inference/models/alias.ts';
import { contractEmbeddings } from '../inference/models/contract-embeddings.ts';
import { type MediaType, modelFor } from '../inference/models/contract-media.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import { culvert } from '../kernel/command-form.ts';
import type { Target } from '../routing/target.ts';

/** One thing that callers can ask for, and who answers. */
export interface Capability {
  name: string;
  /** `simulated`: made-up answers, which say so. `not known yet`: a provider's list was not heard. */
  state: 'real' | 'local' | 'simulated' | 'not known yet' | 'missing';
  /** Part that the capability depends on. */
  by: string;
  /** How it becomes real, or better; null when nothing is to be done. */
  fix: string | null;
}

/** Capabilities that work here and how, for the start table and `culvert doctor`. */
export function capabilitiesOf(snapshot: Snapshot): Capability[] {
  return [
    chatOf(snapshot),
    embeddingsOf(snapshot),
    mediaOf('speech', snapshot),
    mediaOf('transcription', snapshot),
    mediaOf('image', snapshot),
    vectorsOf(snapshot),
    searchOf(snapshot),
  ];
}

const anyKey = 'set OPENAI_API_KEY (or another provider’s)';

function chatOf(snapshot: Snapshot): Capability {
  const chatting = [...snapshot.providers.values()].filter(({ connection }) => connection.chats);
  const real = chatting.filter((provider) => !provider.simulated).map(({ connection }) => connection);
  if (real.length > 0) {
    const state = real.every(({ provider }) => provider.local) ? 'local' : 'real';
    return { name: 'chat', state, by: real.map(({ name }) => name).join(', '), fix: null };
  }
  const unusable = Object.keys(snapshot.config.providers).filter((name) => !snapshot.providers.has(name));
  const none = unusable.length === 0 ? 'no provider yet' : `${unusable.join(', ')} cannot be used`;
  const fix =
    unusable.length === 0
      ? `${anyKey}, or name a provider in culvert.yaml (${culvert} init writes one)`
      : `${culvert} check and the log say why`;
  if (chatting.length > 0) return { name: 'chat', state: 'simulated', by: none, fix };
  const off = snapshot.config.simulator === 'auto' ? 'is off where the address is not loopback' : 'is off';
  return {
    name: 'chat',
    state: 'missing',
    by: `${none}, and the simulator ${off}`,
    fix: `${fix}, or set CULVERT_SIMULATOR=on for made-up answers`,
  };
}

/** Upstreams that answer for the models of the contract. The gateway's own model is always real. */
function embeddingsOf(snapshot: Snapshot): Capability {
  const { models } = snapshot;
  const name = 'embeddings';
  const targets = targetsOf(models.all().filter(({ id }) => contractEmbeddings.includes(id)));
  const real = targets.filter(({ simulated }) => !simulated);
  if (real.length > 0) return { name, ...answeredBy(real, snapshot), fix: null };
  const builtIn = 'compares words only: culvert-lexical-1024';
  const { embeddingSource } = models;
  if (embeddingSource.kind === 'unheard') return { name, ...unlistedCapability(embeddingSource.provider, builtIn) };
  return {
    name,
    state: targets.length > 0 ? 'simulated' : 'missing',
    by: 'no provider has an embedding model yet',
    fix: `${anyKey}, run Ollama with bge-m3, or ${culvert} add embeddings; ${builtIn}`,
  };
}

const wordsFor: Readonly<Record<MediaType, { name: string; verb: string; fix: string }>> = {
  speech: {
    name: 'speech',
    verb: 'speak',
    fix: `${anyKey}, install espeak-ng, run Kokoro-FastAPI, or ${culvert} add speech`,
  },
  transcription: {
    name: 'transcription',
    verb: 'transcribe',
    fix: `${anyKey}, run speaches, or ${culvert} add transcription`,
  },
  image: { name: 'images', verb: 'draw', fix: `${anyKey}, or run Stable Diffusion web UI (with --api) or sd-server` },
};

function mediaOf(type: MediaType, snapshot: Snapshot): Capability {
  const { name, verb, fix } = wordsFor[type];
  const { models } = snapshot;
  const source = models.mediaSources[type];
  const aliases = models.all().filter((alias) => alias.type === type);
  switch (source.kind) {
    case 'alias':
      return { name, ...answeredBy(targetsOf(aliases.filter(({ id }) => id === source.id)), snapshot), fix: null };
    case 'models': {
      const id = `${source.provider}/${modelFor('', type, source.models).id}`;
      if (aliases.length > 0) return { name, state: placeOf([source.provider], snapshot), by: id, fix: null };
      // The contract promises no name of an image model, and the configuration gives none.
      return { name, state: 'missing', by: `no model of type ${type}`, fix: `name one under models, such as ${id}` };
    }
    case 'engine': {
      const better = source.model === 'espeak-ng' ? `robotic; ${culvert} add speech brings a better voice` : null;
      return { name, state: 'local', by: `culvert/${source.model}`, fix: better };
    }
    case 'unheard':
      return { name, ...unlistedCapability(source.provider, null) };
    case 'none': {
      const simulated = targetsOf(aliases).some((target) => target.simulated);
      return { name, state: simulated ? 'simulated' : 'missing', by: `no provider can ${verb} yet`, fix };
    }
  }
}

function vectorsOf({ config }: Snapshot): Capability {
  const { vectors, storage } = config;
  const by =
    vectors.engine === 'qdrant' ? `Qdrant at ${new URL(vectors.url!).host}` : `embedded, in ${storage.data_dir}`;
  return { name: 'vectors', state: 'real', by, fix: null };
}

function searchOf({ config, localSearch }: Snapshot): Capability {
  const name = 'search';
  const engines = config.tools.search.providers.map(({ type }) => type);
  if (engines.some((type) => type !== 'corpus')) {
    const state = engines.every((type) => type === 'searxng' || type === 'corpus') ? 'local' : 'real';
    return { name, state, by: engines.join(', '), fix: null };
  }
  if (localSearch !== null) return { name, state: 'local', by: `SearXNG at ${new URL(localSearch).host}`, fix: null };
  const fix = 'run SearXNG, or name an engine under tools.search.providers';
  return { name, state: 'local', by: 'only pages that were scraped or crawled', fix };
}

function targetsOf(aliases: readonly Alias[]): Target[] {
  return aliases.flatMap(({ candidates }) => candidates.map(({ target }) => target));
}

function answeredBy(targets: readonly Target[], snapshot: Snapshot): Pick<Capability, 'state' | 'by'> {
  const providers = targets.map(({ provider }) => provider);
  return { state: placeOf(providers, snapshot), by: [...new Set(targets.map(({ id }) => id))].join(', ') };
}

/** Engines of this process are of no provider, and local. */
function placeOf(names: readonly string[], { providers }: Snapshot): 'real' | 'local' {
  return names.every((name) => providers.get(name)?.connection.provider.local ?? true) ? 'local' : 'real';
}

function unlistedCapability(provider: string, builtInText: string | null): Pick<Capability, 'state' | 'by' | 'fix'> {
  return {
    state: 'not known yet',
    by: `the models of ${provider} could not be read${builtInText === null ? '' : `; ${builtInText}`}`,
    fix: null,
  };
}
