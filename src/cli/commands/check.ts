import { unrestricted } from '../../books/auth/principal.ts';
import { configJsonSchema } from '../../config/json-schema.ts';
import { type ConfigProblem, formatProblem, formatWarning } from '../../config/problem.ts';
import type { Config } from '../../config/schema.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { budgetedIn, unpricedFix, unpricedMessage, unpricedTargets } from '../../inference/models/unpriced.ts';
import { OlderSchema } from '../../stores/migration.ts';
import { unsupportedByQdrant } from '../../vectors/qdrant/unsupported-by-qdrant.ts';
import type { LocalFlags } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { note, print, printJson } from '../print.ts';
import { whileWaiting } from '../progress.ts';
import { loadHere, shownSource } from '../read-config.ts';
import type { LiveReport } from './check-live.ts';

export interface CheckFlags extends LocalFlags {
  live?: boolean;
  schema?: boolean;
}

interface Counts {
  providers: number;
  models: number;
  keys: number;
}

/** `culvert check`: 0 when a start would take this configuration and, with `--live`, every provider and search engine answers. */
export async function check(flags: CheckFlags, parts: CliParts): Promise<number> {
  if (flags.schema) {
    printJson(configJsonSchema());
    return 0;
  }
  const { file, result } = loadHere(flags.config);
  const shown = shownSource(file);
  if (!result.ok) {
    if (flags.json) printJson({ ok: false, file, errors: result.errors.map(plainProblem), warnings: [] });
    else for (const error of result.errors) note(formatProblem(error));
    return 1;
  }
  const { snapshot, problems: problemsOfSnapshot } = await parts.snapshotOf(result.config);
  const stored = await userKeys(result.config, parts);
  const problems = typeof stored === 'number' ? problemsOfSnapshot : [...problemsOfSnapshot, stored.message];
  const counts: Counts = {
    providers: [...snapshot.providers.values()].filter((provider) => !provider.simulated).length,
    // Those of the file, or without any what `culvert models` lists.
    models:
      Object.keys(result.config.models).length || snapshot.models.list(unrestricted(result.config.default_plan)).length,
    keys: result.config.keys.length + (typeof stored === 'number' ? stored : 0),
  };
  const warnings = [...result.warnings.map(plainProblem), ...problems.map((message) => ({ message }))];
  const unpriced = unpricedTargets(snapshot, budgetedIn(result.config));
  const unsupported = result.config.vectors.engine === 'qdrant' ? Object.values(unsupportedByQdrant) : [];
  if (!flags.json) {
    for (const warning of result.warnings) note(`warning: ${formatWarning(warning)}`);
    for (const problem of problems) note(`warning: ${problem}`);
    const noPrice = unpricedMessage(unpriced);
    if (noPrice !== null) note(`warning: ${noPrice}. ${unpricedFix}`);
    print(`OK: ${shown} (${counted(counts)})`);
    if (unsupported.length > 0)
      print(`Qdrant keeps the vectors. These calls return 501 with it: ${unsupported.join('; ')}.`);
  }
  const live = flags.live ? await look(snapshot, flags) : null;
  if (flags.json)
    printJson({ file, errors: [], warnings, ...counts, unpriced, unsupported, ...(live ?? { ok: true }) });
  return live === null || live.ok ? 0 : 1;
}

async function look(snapshot: Snapshot, flags: CheckFlags) {
  const { checkLive, liveTable } = await import('./check-live.ts');
  const report: LiveReport = await whileWaiting(flags, 'asking the providers', checkLive(snapshot));
  if (!flags.json) print(`\n${liveTable(report)}`);
  return report;
}

/** How many keys are stored, or why nobody knows before a start. */
async function userKeys(config: Config, parts: CliParts): Promise<number | OlderSchema> {
  try {
    const { keys } = await parts.stored(config);
    return keys.filter((key) => key.kind === 'user' && key.revokedMs === null).length;
  } catch (error) {
    if (error instanceof OlderSchema) return error;
    throw error;
  }
}

function counted({ providers, models, keys }: Counts): string {
  const of = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
  return [of(providers, 'provider'), of(models, 'model'), of(keys, 'key')].join(', ');
}

function plainProblem({ line, column, path, message }: ConfigProblem) {
  return { line, column, path, message };
}
