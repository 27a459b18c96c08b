import { isDeepStrictEqual } from 'node:util';
import { fragmentKey, mergeStored } from '../../config/merge-stored.ts';
import { formatPath } from '../../config/problem.ts';
import type { Config } from '../../config/schema.ts';
import { createSealer } from '../../kernel/seal.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { Stored } from './account-store.ts';
import { openEntries } from './entry-secrets.ts';

type LogLine = (facts: object, message: string) => void;

/** The configuration in force: that of the file, and under it the settings made while Culvert ran. */
export interface Setup {
  /** State of the stored entries, as of the last `take`. */
  report(): SetupReport;
  /** The file's alone. */
  file(): Config;
  inForce(): Config;
  /** Present contents of the store. */
  take(stored: Pick<Stored, 'entries' | 'credentials'>): void;
  /** Another file; resolves when it is in force and its providers were asked for their models. */
  declare(file: Config): Promise<void>;
  /** From now on each change goes to `use`, one after the other. */
  begin(use: Use): void;
  /** Resolves when everything taken so far is in force. */
  settled(): Promise<void>;
  /** The same, and its providers were asked for their models, or this many ms have passed. */
  providersListed(waitMaxMs: number): Promise<void>;
}

/** Resolves when new requests go by it. `asking`: whether providers are asked for their models too. */
type Use = (config: Config, asking: 'every provider' | 'nobody') => Promise<TakenUp>;

/** A configuration that new requests go by. */
export interface TakenUp {
  /** Every provider was asked for its models. */
  providersListed: Promise<void>;
}

/** By `fragmentKey` of config. */
export interface SetupReport {
  /** The file has one of their name. */
  shadowed: ReadonlySet<string>;
  /** Why they are not in use, or not as a whole, a sentence each. */
  problems: ReadonlyMap<string, string>;
  /** Entries that cannot be opened, or not as a whole, since another secret sealed them. */
  unopened: number;
}

const fine: SetupReport = { shadowed: new Set(), problems: new Map(), unopened: 0 };

type StoredEntries = Pick<Stored, 'entries' | 'credentials'>;

/** The file with what is stored under it, and what of that is not in use. */
function mergedSetup(
  file: Config,
  entries: StoredEntries,
  secrets: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): { config: Config; report: SetupReport } {
  if (entries.entries.length === 0) return { config: file, report: fine };
  const opened = openEntries(createSealer(secrets, 'credentials'), entries);
  const { config, left } = mergeStored(file, opened.fragments, env);
  const problems = new Map(opened.troubles);
  for (const [key, why] of left) {
    if (why.kind === 'unusable') problems.set(key, [formatPath(why.path), why.message].filter(Boolean).join(': '));
  }
  const shadowed = [...left].flatMap(([key, { kind }]) => (kind === 'shadowed' ? [key] : []));
  return { config, report: { shadowed: new Set(shadowed), problems, unopened: opened.troubles.size } };
}

/** Logs the problems that are not among the lines of the last time, and gives the lines of this time. */
function logNewProblems(
  log: { warn: LogLine },
  { entries }: StoredEntries,
  problems: ReadonlyMap<string, string>,
  before: ReadonlySet<string>,
): ReadonlySet<string> {
  if (entries.length === 0) return before;
  const lines = entries.flatMap((row) => {
    const problem = problems.get(fragmentKey(row));
    return problem === undefined ? [] : [{ row, problem, line: `${fragmentKey(row)}: ${problem}` }];
  });
  for (const { row, problem, line } of lines) {
    if (!before.has(line)) log.warn({ [row.kind]: row.name, problem }, `a stored ${row.kind} is not valid`);
  }
  return new Set(lines.map(({ line }) => line));
}

export function createSetup(parts: {
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  secrets: { all(): readonly string[] };
  log: { warn: LogLine; error: LogLine };
}): Setup {
  const { env, secrets, log } = parts;
  let file = parts.config;
  let entries: StoredEntries = { entries: [], credentials: [] };
  let logged: ReadonlySet<string> = new Set();
  let report: SetupReport = fine;
  let inForce = file;
  let use: Use | null = null;
  let last: Promise<TakenUp> = Promise.resolve({ providersListed: Promise.resolve() });

  function merge(asking: 'every provider' | 'what changed'): Promise<TakenUp> {
    const before = inForce;
    const merged = mergedSetup(file, entries, secrets.all(), env);
    inForce = merged.config;
    report = merged.report;
    logged = logNewProblems(log, entries, report.problems, logged);
    if (use === null) return last;
    const next = use;
    const config = inForce;
    const sameProviders = asking === 'what changed' && isDeepStrictEqual(before.providers, config.providers);
    last = last.then(
      () => next(config, sameProviders ? 'nobody' : 'every provider'),
      // What the change before could not load is in this one too.
      () => next(config, 'every provider'),
    );
    // The caller that made a change gets the error; nobody else waits.
    last.catch((error: unknown) =>
      log.error({ error: String(error) }, 'the providers and models that were set up at run time could not be loaded'),
    );
    return last;
  }

  return {
    report: () => report,
    file: () => file,
    inForce: () => inForce,
    take(stored) {
      const next: StoredEntries = { entries: stored.entries, credentials: stored.credentials };
      if (next.entries.length === 0 && entries.entries.length === 0) return;
      // The store's version moves with accounts and keys too.
      if (isDeepStrictEqual(next, entries)) return;
      entries = next;
      void merge('what changed');
    },
    async declare(next) {
      file = next;
      await (await merge('every provider')).providersListed;
    },
    begin(next) {
      use = next;
    },
    async settled() {
      await last;
    },
    async providersListed(waitMaxMs) {
      const { providersListed } = await last;
      await withinMs(waitMaxMs, providersListed, null);
    },
  };
}
