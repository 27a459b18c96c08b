import type { Snapshot } from '../inference/pipeline/services.ts';
import { chats } from '../inference/providers/connection.ts';
import type { LocalServer } from '../inference/providers/probe-local.ts';

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
  const lines = [`Culvert ${facts.version} listens on ${url}`, '', ...table(capabilities(facts))];
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

interface Row {
  capability: string;
  state: 'real' | 'local' | 'simulated' | 'missing' | 'later';
  by: string;
}

function capabilities({ snapshot }: StartFacts): Row[] {
  const chat = [...snapshot.providers.values()].filter(({ connection }) => chats(connection));
  const real = chat.filter((provider) => !provider.simulated);
  const names = (providers: typeof chat) => providers.map(({ connection }) => connection.name).join(', ');
  const row: Row =
    real.length > 0
      ? {
          capability: 'chat',
          state: real.every(({ connection }) => connection.provider.local) ? 'local' : 'real',
          by: names(real),
        }
      : chat.length > 0
        ? {
            capability: 'chat',
            state: 'simulated',
            by: 'no provider yet: set OPENAI_API_KEY (or another provider’s), or write culvert.yaml (culvert init)',
          }
        : {
            capability: 'chat',
            state: 'missing',
            by: 'set OPENAI_API_KEY (or another provider’s), or name a provider in culvert.yaml',
          };
  return [row];
}

function table(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(({ capability }) => capability.length), 'capability'.length);
  return [
    `${'capability'.padEnd(width)}  ${'state'.padEnd(9)}  by`,
    ...rows.map(({ capability, state, by }) => `${capability.padEnd(width)}  ${state.padEnd(9)}  ${by}`),
  ];
}

function unused({ snapshot, found }: StartFacts): LocalServer[] {
  const used = new Set([...snapshot.providers.values()].map(({ connection }) => connection.origin));
  return found.filter(({ url }) => !used.has(new URL(url).origin));
}

/** One that exists: the first chat alias of the configuration, else of what providers list. */
function exampleModel(snapshot: Snapshot): string | null {
  const everything = { keyId: '', keyName: '', tenant: '', account: '', plan: '', allowedModels: null };
  const aliases = snapshot.models.list(everything).filter((alias) => alias.type === 'chat');
  const plain = aliases.find((alias) => !alias.id.includes('/'));
  return (Object.keys(snapshot.config.models).length > 0 ? aliases[0] : (plain ?? aliases[0]))?.id ?? null;
}
