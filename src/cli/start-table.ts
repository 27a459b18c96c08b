import { unrestricted } from '../auth/principal.ts';
import { contractEmbeddings } from '../inference/pipeline/contract-embeddings.ts';
import type { Snapshot } from '../inference/pipeline/services.ts';
import { chats } from '../inference/providers/connection.ts';
import type { LocalServer } from '../inference/providers/probe-local.ts';
import { table } from './table.ts';

export interface StartFacts {
  url: string;
  snapshot: Snapshot;
  /** Servers that answered our probes; used ones are among the snapshot's providers. */
  found: readonly LocalServer[];
  newUserKey: string | null;
  newAdminKey: string | null;
  version: string;
}

/** What a start says to the person who started it: where, what works and how, the new keys, a curl to paste. */
export function startMessage(facts: StartFacts): string {
  const { url, snapshot, newUserKey, newAdminKey } = facts;
  const lines = [
    `Culvert ${facts.version} listens on ${url}`,
    '',
    table(['capability', 'state', 'by'], capabilities(facts)),
  ];
  for (const server of unused(facts)) {
    lines.push(
      '',
      `Found ${server.type} at ${server.url}${server.note === null ? '' : ` (${server.note})`}, not used: start with CULVERT_AUTODETECT=1 or 'autodetect: on' to use it.`,
    );
  }
  if (newAdminKey !== null) {
    lines.push(
      '',
      'Admin key (opens /admin/v1 and /metrics; kept in admin.key of the data folder):',
      `  ${newAdminKey}`,
    );
  }
  if (newUserKey !== null) lines.push('', 'API key (shown this once):', `  ${newUserKey}`);
  const { unheard } = snapshot.models;
  if (unheard.length > 0) {
    lines.push(
      '',
      `Not known yet: the models of ${unheard.join(', ')}, whose list could not be read so far. It is asked again; culvert check --live says what is wrong.`,
    );
  }
  const model = exampleModel(snapshot);
  if (model !== null) {
    lines.push(
      '',
      'Try it:',
      `  curl ${url}/v1/chat/completions \\`,
      // Double quotes: in single ones a shell leaves the variable as it stands.
      `    -H ${newUserKey === null ? '"Authorization: Bearer $CULVERT_API_KEY"' : `'Authorization: Bearer ${newUserKey}'`} \\`,
      `    -H 'Content-Type: application/json' \\`,
      `    -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    );
  }
  return `${lines.join('\n')}\n`;
}

type Capability = [capability: string, state: string, by: string];

/** Rows of capability, state, and what it stands on or how to mend it. */
function capabilities({ snapshot }: StartFacts): Capability[] {
  return [chatOf(snapshot), embeddingsOf(snapshot), vectorsOf(snapshot)];
}

function chatOf(snapshot: Snapshot): Capability {
  const chatting = [...snapshot.providers.values()].filter(({ connection }) => chats(connection));
  const real = chatting.filter((provider) => !provider.simulated).map(({ connection }) => connection);
  if (real.length > 0) {
    const state = real.every(({ provider }) => provider.local) ? 'local' : 'real';
    return ['chat', state, real.map(({ name }) => name).join(', ')];
  }
  const fix = 'set OPENAI_API_KEY (or another provider’s), or name a provider in culvert.yaml (culvert init)';
  return chatting.length > 0 ? ['chat', 'simulated', `no provider yet: ${fix}`] : ['chat', 'missing', fix];
}

/** Who answers for the models of the contract; the gateway's own model is real in any case. */
function embeddingsOf({ models, providers }: Snapshot): Capability {
  const aliases = models.all().filter(({ id }) => contractEmbeddings.includes(id));
  const targets = aliases.flatMap(({ candidates }) => candidates.map(({ target }) => target));
  const real = targets.filter(({ simulated }) => !simulated);
  if (real.length > 0) {
    const local = real.every(({ provider }) => providers.get(provider)?.connection.provider.local);
    return ['embeddings', local ? 'local' : 'real', [...new Set(real.map(({ id }) => id))].join(', ')];
  }
  const own = 'real by words alone: culvert-lexical-1024';
  const { embeddingSource } = models;
  if (embeddingSource.kind === 'unheard') {
    return ['embeddings', 'not known yet', `the models of ${embeddingSource.provider} could not be read; ${own}`];
  }
  const fix = 'set OPENAI_API_KEY (or another provider’s), or run Ollama with bge-m3';
  return ['embeddings', targets.length > 0 ? 'simulated' : 'missing', `no provider that embeds yet: ${fix}; ${own}`];
}

function vectorsOf({ config: { vectors, storage } }: Snapshot): Capability {
  const by =
    vectors.engine === 'qdrant' ? `Qdrant at ${new URL(vectors.url!).host}` : `embedded, in ${storage.data_dir}`;
  return ['vectors', 'real', by];
}

function unused({ snapshot, found }: StartFacts): LocalServer[] {
  const used = new Set([...snapshot.providers.values()].map(({ connection }) => connection.origin));
  return found.filter(({ url }) => !used.has(new URL(url).origin));
}

/** One that exists: the first chat alias of the configuration, else of what providers list. */
function exampleModel(snapshot: Snapshot): string | null {
  const everybody = unrestricted(snapshot.config.default_plan);
  const aliases = snapshot.models.list(everybody).filter((alias) => alias.type === 'chat');
  const plain = aliases.find((alias) => !alias.id.includes('/'));
  return (Object.keys(snapshot.config.models).length > 0 ? aliases[0] : (plain ?? aliases[0]))?.id ?? null;
}
