import { relative } from 'node:path';
import { unrestricted } from '../books/auth/principal.ts';
import type { LocalServer } from '../formats/providers/probe-local.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import { culvert } from '../kernel/command-form.ts';
import { capabilitiesOf } from './capabilities.ts';
import { fitted, lineWidth } from './line-width.ts';
import { table } from './table.ts';

export interface StartFacts {
  url: string;
  snapshot: Snapshot;
  /** Servers that answered our probes; used ones are among the snapshot's providers. */
  found: readonly LocalServer[];
  /** Whether it is served. */
  dashboard: boolean;
  /** A link that logs in once; null: nobody can click it, or it would open nothing. */
  login: string | null;
  adminKey: ShownKey | null;
  /** Key of a first start, while it opens this server. */
  userKey: ShownKey | null;
  /** Secrets are shown to a person at a terminal alone: what a machine reads is kept in logs. */
  reader: 'person' | 'machine';
  version: string;
}

export interface ShownKey {
  /** The secret, where this start made it. */
  made: string | null;
  /** Absolute; null: nowhere. */
  file: string | null;
}

/** Table for the person who starts it: where, what works and how, the new keys, a curl to paste. */
export function startMessage(facts: StartFacts): string {
  const { url, snapshot, userKey, adminKey } = facts;
  const lines = [
    plainText(
      `Culvert ${facts.version} listens on ${url}${isEveryAddress(snapshot) ? ', and on every other address of this machine' : ''}`,
    ),
    '',
    table(['capability', 'state', 'by'], rows(snapshot)),
  ];
  for (const server of unused(facts)) lines.push('', plainText(foundLine(server)));
  if (facts.dashboard) lines.push('', ...dashboardLines(facts));
  if (adminKey !== null) lines.push('', ...keyLines('Admin key, for /admin/v1 and /metrics', adminKey, facts));
  if (userKey !== null) lines.push('', ...keyLines('API key', userKey, facts));
  const { unheard } = snapshot.models;
  if (unheard.length > 0) {
    lines.push(
      '',
      plainText(
        `Culvert could not read the list of models of ${unheard.join(', ')} so far, and asks again. ${culvert} check --live says what is wrong.`,
      ),
    );
  }
  const everybody = unrestricted(snapshot.config.default_plan);
  const standIn = snapshot.models.standIn(everybody);
  if (standIn !== null) {
    lines.push(
      '',
      plainText(
        `${standIn.id} answers for models that nobody here has, such as claude-… and gpt-…; server.unknown_models: refuse makes them 404.`,
      ),
    );
  }
  const model = exampleModel(snapshot);
  if (model !== null) {
    lines.push(
      '',
      'Try it:',
      `  curl ${url}/v1/chat/completions \\`,
      // Double quotes, because a shell does not expand the variable in single ones.
      `    -H "Authorization: Bearer ${keyInShell(facts)}" \\`,
      `    -H 'Content-Type: application/json' \\`,
      `    -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Prose; what is pasted keeps its lines. */
function plainText(text: string): string {
  return fitted(text, lineWidth(process.stdout));
}

function dashboardLines({ url, login, reader }: StartFacts): string[] {
  if (login !== null) return ['Dashboard, with a login link that works once, within ten minutes:', `  ${login}`];
  const how = reader === 'machine' ? `: ${culvert} dashboard prints a link that logs in` : '';
  return [`Dashboard: ${url}/dashboard${how}`];
}

function isEveryAddress({ config: { server } }: Snapshot): boolean {
  return server.host === '0.0.0.0' || server.host === '::';
}

function keyLines(what: string, key: ShownKey, { reader }: StartFacts): string[] {
  const { made, file } = key;
  const hidden = hiddenIn(key, reader);
  if (hidden !== null) return [`${what}: in ${shownPath(hidden)}`];
  return [`${what} (${file === null ? 'shown only once' : `kept in ${shownPath(file)}`}):`, `  ${made}`];
}

/** Text for the key in a command that people paste. */
function keyInShell({ userKey, reader }: StartFacts): string {
  if (userKey === null) return '$CULVERT_API_KEY';
  const hidden = hiddenIn(userKey, reader);
  return hidden === null ? (userKey.made ?? '') : `$(cat ${shownPath(hidden)})`;
}

/** The file to name in the place of a secret. A secret that is in no file is shown in any case: else it would be lost. */
function hiddenIn({ made, file }: ShownKey, reader: StartFacts['reader']): string | null {
  return made !== null && reader === 'person' ? null : file;
}

/** Relative to the working folder when it is below it. */
function shownPath(file: string): string {
  const fromHere = relative('', file);
  return fromHere.startsWith('..') ? file : fromHere;
}

/** Rows of capability, state, and what it depends on with its fix. */
function rows(snapshot: Snapshot): string[][] {
  return capabilitiesOf(snapshot).map(({ name, state, by, fix }) => [name, state, fix === null ? by : `${by}: ${fix}`]);
}

function foundLine({ title, use, url, note }: LocalServer): string {
  if (use === 'listed') return `Found ${title} at ${url}, not used: ${note}.`;
  const remark = note === null ? '' : ` (${note})`;
  return `Found ${title} at ${url}${remark}, not used: start with CULVERT_AUTODETECT=1 or 'autodetect: on' to use it.`;
}

function unused({ snapshot, found }: StartFacts): LocalServer[] {
  const used = new Set<string>([...snapshot.providers.values()].map(({ connection }) => connection.origin));
  if (snapshot.localSearch !== null) used.add(new URL(snapshot.localSearch).origin);
  return found.filter(({ url }) => !used.has(new URL(url).origin));
}

/** An existing model: the first chat alias of the configuration, or of the providers' lists. */
function exampleModel(snapshot: Snapshot): string | null {
  const everybody = unrestricted(snapshot.config.default_plan);
  const aliases = snapshot.models.list(everybody).filter((alias) => alias.type === 'chat');
  const plain = aliases.find((alias) => !alias.id.includes('/'));
  return (Object.keys(snapshot.config.models).length > 0 ? aliases[0] : (plain ?? aliases[0]))?.id ?? null;
}
