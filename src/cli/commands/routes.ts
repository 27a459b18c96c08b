import { type AdminClient, type AdminFlags, AdminRefused, withAdmin } from '../admin-client.ts';
import { calls, filled, lists, overAdmin } from '../admin-entries.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody } from '../command-table.ts';
import { listOf, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printJson } from '../print.ts';
import { originOf, type Row } from '../rows.ts';

/** `culvert routes …` */
export const routes: CommandBody = {
  example: 'culvert routes list',
  commands: {
    list: lists({
      description: 'list rules for routes in the order in which they are tried',
      example: 'culvert routes list',
      path: '/routes',
      rowsMax: 1_000,
      columns: [
        ['rule', ({ name }) => name],
        ['from', originOf],
        ['order', ({ order }) => order],
        ['when', ({ when }) => when ?? 'always'],
        ['effects', ({ effects }) => (effects as string[]).join(', ')],
        ['', ({ enabled }) => (enabled === false ? 'off' : '')],
        ['problem', ({ problem }) => problem],
      ],
      empty: 'There is no rule.',
    }),
    show: calls({
      description: 'show all settings of a rule',
      arguments: [['<name>', 'its name']],
      example: 'culvert routes show night',
      call: 'GET /routes/{name}',
      exact: true,
      says: async ({ settings, definition }) => (await import('yaml')).stringify(settings ?? definition).trimEnd(),
    }),
    set: overAdmin({
      description: 'create a rule, or change settings of a stored one; the next request meets it',
      arguments: [['<name>', 'records and refusals name it so']],
      options: [
        ['--when <condition>', 'the condition in CEL; none: each request'],
        ['--model <model>', 'the model that answers'],
        ['--targets <targets>', 'targets that may answer', { read: listOf('openai/gpt-5.1,azure') }],
        ['--tag <tag>', 'the tag by which its use is summed'],
        ['--refuse <message>', 'refuse the request with this message'],
        ['--order <number>', 'its place; lower ones come first', { read: whole(0, 10_000) }],
        ['--settings <json>', 'settings as in culvert.yaml, in JSON; other options come on top'],
      ],
      example: `culvert routes set long --when 'plan == "free" && tokens > 8000' --model cheap`,
      work: () => setRoute,
    }),
    delete: calls({
      description: 'delete a stored rule',
      arguments: [['<name>', 'its name']],
      example: 'culvert routes delete night',
      call: 'DELETE /routes/{name}',
      says: (_route, name) => `Rule '${name}' is deleted.`,
    }),
  },
};

interface SetFlags {
  when?: string;
  model?: string;
  targets?: string[];
  tag?: string;
  refuse?: string;
  order?: number;
  settings?: string;
}

async function setRoute(name: string, flags: AdminFlags & SetFlags, parts: CliParts): Promise<number> {
  const settings = settingsOf(flags);
  const { route, made } = await withAdmin(flags, parts, async (admin) => {
    const path = filled('/routes/{name}', [name]);
    if (await isThere(admin, path)) {
      return { made: false, route: await admin.request('PATCH', path, { body: settings }) };
    }
    return { made: true, route: await admin.request('POST', '/routes', { body: { ...settings, name } }) };
  });
  if (listForm(flags) === 'json') printJson(route);
  else print(`Rule '${name}' is ${made ? 'stored' : `changed. It has version ${(route as Row).version} now`}.`);
  return 0;
}

async function isThere(admin: AdminClient, path: string): Promise<boolean> {
  try {
    await admin.request('GET', path);
    return true;
  } catch (error) {
    if (error instanceof AdminRefused && error.status === 404) return false;
    throw error;
  }
}

function settingsOf({
  settings,
  refuse: message,
  when,
  model,
  targets,
  tag,
  order,
}: SetFlags): Record<string, unknown> {
  const refuse = message === undefined ? undefined : { message };
  const given = { when, model, targets, tag, order, refuse };
  return { ...jsonIn(settings), ...Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined)) };
}

function jsonIn(text: string | undefined): object {
  if (text === undefined) return {};
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read;
  } catch {
    // The sentence below says it.
  }
  throw new CommandFailed('--settings: expected a JSON object, such as {"continue":true,"tag":"night"}.', 2);
}
