import { isDeepStrictEqual } from 'node:util';
import { fragmentKey, mergeKept } from '../../config/merge-kept.ts';
import { formatPath } from '../../config/problem.ts';
import type { Config } from '../../config/schema.ts';
import { createSealer } from '../../kernel/seal.ts';
import type { Stored } from './account-store.ts';
import { openKept } from './kept-secrets.ts';

type Told = (facts: object, message: string) => void;

/** The configuration in force: that of the file, and under it the settings made while Culvert ran. */
export interface Setup {
  /** State of the stored entries, as of the last `take`. */
  report(): SetupReport;
  /** The file's alone. */
  file(): Config;
  inForce(): Config;
  /** Present contents of the store. */
  take(stored: Pick<Stored, 'kept' | 'credentials'>): void;
  /** Another file; resolves when it is in force and its providers were asked for their models. */
  declare(file: Config): Promise<void>;
  /** From now on each change goes to `use`, one after the other. */
  begin(use: Use): void;
  /** Resolves when everything taken so far is in force. */
  settled(): Promise<void>;
  /** The same, and its providers were asked for their models, or this many ms have passed. */
  heard(waitMaxMs: number): Promise<void>;
}

/** Resolves when new requests go by it. `asking`: whether providers are asked for their models too. */
type Use = (config: Config, asking: 'every provider' | 'nobody') => Promise<TakenUp>;

/** A configuration that new requests go by. */
export interface TakenUp {
  /** Every provider was asked for its models. */
  heard: Promise<void>;
}

/** By `fragmentKey` of config. */
export interface SetupReport {
  /** The file has one of their name. */
  shadowed: ReadonlySet<string>;
  /** Why they are not in use, or not as a whole, a sentence each. */
  problems: ReadonlyMap<string, string>;
}

const fine: SetupReport = { shadowed: new Set(), problems: new Map() };

type Kept = Pick<Stored, 'kept' | 'credentials'>;

/** The file with what is stored under it, and what of that is not in use. */
function mergedSetup(
  file: Config,
  kept: Kept,
  secrets: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): { config: Config; report: SetupReport } {
  if (kept.kept.length === 0) return { config: file, report: fine };
  const opened = openKept(createSealer(secrets, 'credentials'), kept);
  const { config, left } = mergeKept(file, opened.fragments, env);
  const problems = new Map(opened.troubles);
  for (const [key, why] of left) {
    if (why.kind === 'unusable') problems.set(key, [formatPath(why.path), why.message].filter(Boolean).join(': '));
  }
  const shadowed = [...left].flatMap(([key, { kind }]) => (kind === 'shadowed' ? [key] : []));
  return { config, report: { shadowed: new Set(shadowed), problems } };
}

/** Logs the problems that are not among the lines of the last time, and gives the lines of this time. */
function tellNew(
  log: { warn: Told },
  { kept }: Kept,
  problems: ReadonlyMap<string, string>,
  before: ReadonlySet<string>,
): ReadonlySet<string> {
  if (kept.length === 0) return before;
  const lines = kept.flatMap((row) => {
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
  log: { warn: Told; error: Told };
}): Setup {
  const { env, secrets, log } = parts;
  let file = parts.config;
  let kept: Kept = { kept: [], credentials: [] };
  let told: ReadonlySet<string> = new Set();
  let report: SetupReport = fine;
  let inForce = file;
  let use: Use | null = null;
  let last: Promise<TakenUp> = Promise.resolve({ heard: Promise.resolve() });

  function merge(asking: 'every provider' | 'what changed'): Promise<TakenUp> {
    const before = inForce;
    const merged = mergedSetup(file, kept, secrets.all(), env);
    inForce = merged.config;
    report = merged.report;
    told = tellNew(log, kept, report.problems, told);
    if (use === null) return last;
    const next = use;
    const config = inForce;
    const sameProviders = asking === 'what changed' && isDeepStrictEqual(before.providers, config.providers);
    last = last.then(() => next(config, sameProviders ? 'nobody' : 'every provider'));
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
      const next: Kept = { kept: stored.kept, credentials: stored.credentials };
      if (next.kept.length === 0 && kept.kept.length === 0) return;
      // The store's version moves with accounts and keys too.
      if (isDeepStrictEqual(next, kept)) return;
      kept = next;
      void merge('what changed');
    },
    async declare(next) {
      file = next;
      await (await merge('every provider')).heard;
    },
    begin(next) {
      use = next;
    },
    async settled() {
      await last;
    },
    async heard(waitMaxMs) {
      const { heard } = await last;
      let timer: NodeJS.Timeout | undefined;
      const over = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, waitMaxMs);
      });
      await Promise.race([heard, over]);
      clearTimeout(timer);
    },
  };
}
