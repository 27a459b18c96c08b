import { z } from 'zod';
import { openEntries } from '../books/auth/entry-secrets.ts';
import type { Operator } from '../books/auth/operator.ts';
import { exportConfig } from '../config/export-config.ts';
import { emptyFile } from '../config/load.ts';
import { fragmentKey, mergeStored } from '../config/merge-stored.ts';
import type { ConfigProblem } from '../config/problem.ts';
import { redact } from '../config/redact.ts';
import type { Config } from '../config/schema.ts';
import { writtenSettings } from '../config/written-settings.ts';
import { forbidden } from '../kernel/failure.ts';
import { type AccountScope, partWithin } from './account-scope.ts';
import type { Directory, KnownPlan, Records } from './directory.ts';
import { jsonOperation, type Operation, refuse, refuseWith, textOperation } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { notAllowed } from './roles.ts';

const problemSchema = z.object({
  line: z.int(),
  column: z.int(),
  path: z.string().describe("'' for the file as a whole."),
  message: z.string(),
});

const settingSchema = z.object({
  path: z.string(),
  value: z.string().nullable().describe('As the file writes it; null: not set.'),
  from: z.enum(['default', 'set']),
});

const checkedSchema = z.object({ ok: z.boolean(), errors: z.array(problemSchema), warnings: z.array(problemSchema) });

const checkedAsEmpty = { ok: false, errors: [{ line: 1, column: 1, path: '', message: emptyFile }], warnings: [] };

const reloadedSchema = z.object({
  ok: z.literal(true),
  errors: z.array(problemSchema).max(0),
  at_next_start: z
    .array(z.string())
    .describe('Settings that differ from those of the start, and that only a start takes, such as server.port.'),
});

/** `/config`: the configuration in force, and what a given text would become. */
export function configurationOperations(parts: AdminParts, records: Records): Operation[] {
  // One text at a time: each takes a thread.
  let checking: Promise<unknown> = Promise.resolve();
  const check = (text: string) => {
    const checked = checking.then(() => parts.checkConfig(text));
    checking = checked.catch(() => undefined);
    return checked;
  };
  return [
    jsonOperation({
      route: 'GET /config',
      area: 'settings',
      summary:
        'Returns the configuration in force with all defaults and without secrets. Durations are in ms, sizes in bytes; `settings` has them as the file writes them.',
      reply: z.object({
        file: z.string().nullable(),
        config: z.record(z.string(), z.unknown()),
        settings: z.array(settingSchema),
      }),
      run({ operator }) {
        const config = redact(within(parts.snapshots.current.config, operator.accounts)) as Record<string, unknown>;
        return { file: parts.configFile, config, settings: writtenSettings(config) };
      },
    }),
    textOperation({
      route: 'GET /config/export',
      area: 'settings',
      access: 'write',
      summary:
        'The configuration file as YAML, with what was set up at run time below it, such as plans and accounts. Secrets are references to variables. The first lines name these variables and what the file leaves out: keys and operators.',
      contentType: 'application/yaml; charset=utf-8',
      run: async () => exported({ ...parts, checkConfig: check }, await records.current(null)),
    }),
    jsonOperation({
      route: 'POST /config/check',
      area: 'settings',
      summary: 'Checks a culvert.yaml (the body, as YAML) and changes nothing.',
      body: 'yaml',
      reply: checkedSchema,
      async run({ body, operator }) {
        if (body.trim() === '') return checkedAsEmpty;
        const mayRead = notAllowed(operator, 'operators', 'write') === null;
        if (!mayRead && body.includes('${')) refuse(readsSecrets);
        const result = await check(body);
        if (!mayRead && result.sources.length > 1) refuse(readsSecrets);
        return result.ok
          ? { ok: true, errors: [], warnings: result.warnings.map(shown) }
          : { ok: false, errors: result.errors.map(shown), warnings: [] };
      },
    }),
    jsonOperation({
      route: 'POST /config/reload',
      area: 'settings',
      summary:
        'Reads the configuration file again. If it has errors, the answer is 400 with a list of them, and the old configuration stays in force. It also stays when the new file would drop every declared key, unless the reload is forced.',
      body: z
        .strictObject({
          force: z.boolean().default(false).describe('Take the file although it drops every declared key.'),
        })
        .prefault({}),
      reply: reloadedSchema,
      run: ({ body, operator }) => reload(parts, records, body.force, operator),
    }),
  ];
}

/** A file that is valid with one value and not with another tells what the value is. */
const readsSecrets = forbidden(
  'The text has references or includes files, and a check tells of their values. Only an owner of all accounts may check it.',
);

/** Takes the file, and writes that into the audit log. */
async function reload(
  parts: AdminParts,
  records: Records,
  force: boolean,
  { name: actor }: Operator,
): Promise<z.input<typeof reloadedSchema>> {
  const reloaded = await parts.reload(force ? 'force' : 'careful');
  if (!reloaded.ok) {
    const message = 'The configuration file was not loaded. The old configuration stays in force.';
    return refuseWith(
      { kind: 'invalid-request', param: null, message },
      { ok: false, errors: reloaded.errors.map(shown) },
    );
  }
  const at_next_start = [...(reloaded.atNextStart ?? [])];
  const subject = parts.configFile ?? 'configuration';
  await records.note({ actor, action: 'config.reload', subject, after: { force, at_next_start } });
  return { ok: true, errors: [], at_next_start };
}

/** Without what other accounts have. */
function within(config: Config, scope: AccountScope): Config {
  if (scope === null) return config;
  const accounts = Object.fromEntries(Object.entries(config.accounts).filter(([id]) => scope.includes(id)));
  return { ...partWithin(config, scope), accounts };
}

/** Refuses when the file cannot be read. */
async function exported(parts: AdminParts, { stored, accounts, keys, plans }: Directory): Promise<string> {
  const { setup, configFile } = parts;
  const text = parts.configText();
  if (text === null || (text !== '' && !(await parts.checkConfig(text)).ok)) {
    const message = `${configFile ?? 'The configuration'} cannot be read as it is now. Run culvert check to see its errors.`;
    return refuse({ kind: 'conflict', message });
  }
  const { fragments } = openEntries(setup.sealer(), stored);
  const { left, config } = mergeStored(setup.file(), fragments, setup.env);
  const used = fragments.filter((fragment) => !left.has(fragmentKey(fragment)));
  const made = <T extends { from: KnownPlan['from'] }>(all: readonly T[]) =>
    all.filter(({ from }) => from === 'admin api');
  const beside = {
    plans: made(plans),
    accounts: made(accounts),
    keys: made(keys).filter(({ revokedMs }) => revokedMs === null).length,
    operators: stored.operators.length,
  };
  return exportConfig({ text, file: setup.file(), inForce: config, fragments: used, beside, env: setup.env }).text;
}

function shown({ line, column, path, message }: ConfigProblem): z.input<typeof problemSchema> {
  return { line, column, path, message };
}
