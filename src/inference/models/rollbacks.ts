import {
  clearlyWorse,
  isSlowerByCaller,
  isWorseWithoutAny,
  type Worse,
} from '../../books/metering/experiments/clearly-worse.ts';
import type {
  Experiment,
  ExperimentBook,
  ResultsQuery,
  VariantState,
  VariantTimes,
} from '../../books/metering/experiments/experiment-book.ts';
import { type Clock, dayMs } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import type { Alias, OutVariants, Variant } from './alias.ts';
import type { Snapshots } from './snapshot.ts';

/** Which variants are out, for those who choose and for the watch, which reads it. */
export class KnownOut implements OutVariants {
  readonly #byAlias = new Map<string, { shape: string; out: ReadonlySet<string> }>();

  without(alias: string, shape: string, all: readonly Variant[]): readonly Variant[] | null {
    const known = this.#byAlias.get(alias);
    if (known === undefined || known.shape !== shape) return null;
    return all.filter((variant) => !known.out.has(variant.alias.variant ?? ''));
  }

  set({ alias, shape }: Experiment, states: readonly VariantState[]): void {
    const out = states.filter((state) => state.out !== null).map(({ variant }) => variant);
    if (out.length === 0) this.#byAlias.delete(alias);
    else this.#byAlias.set(alias, { shape, out: new Set(out) });
  }

  /** Each as `model/variant`. */
  names(): string[] {
    return [...this.#byAlias].flatMap(([alias, { out }]) => [...out].map((variant) => `${alias}/${variant}`));
  }
}

/** How often a process reads what others took out, or an operator took back. */
const readMs = 5_000;
/** One of so many reads compares the last requests. */
const readsPerLook = 6;
const recentMs = 15 * 60_000;
/** One of so many looks compares those of a day: many requests are read then, and what is rare shows. */
const looksPerLongLook = 20;
/** Accounts or callers of each variant that are looked at one by one. */
const apartCount = 30;

export interface RollbackParts {
  readonly snapshots: Snapshots;
  book: ExperimentBook;
  out: KnownOut;
  metrics: {
    gauges(
      name: string,
      help: string,
      label: string,
      over: 'max',
      read: () => Iterable<readonly [string, number]>,
    ): void;
  };
  clock: Clock;
  log: { warn(facts: object, message: string): void };
  onTrouble(message: string): void;
}

/**
 * Takes variants out that are clearly worse than the first of their model. The database has the state, so replicas agree
 * and a restart changes nothing.
 */
export function createRollbacks(parts: RollbackParts) {
  const { snapshots, book, out, clock, metrics } = parts;
  let reads = 0;
  let running: Promise<void> | null = null;

  async function look(compare: 'nothing' | 'recent' | 'day'): Promise<void> {
    if (!snapshots.current.varies) return;
    for (const alias of snapshots.current.models.all()) {
      const shape = alias.variants?.shape;
      if (shape !== undefined) await lookAt(alias, { alias: alias.id, shape }, compare);
    }
  }

  async function lookAt(alias: Alias, experiment: Experiment, compare: 'nothing' | 'recent' | 'day'): Promise<void> {
    const names = (alias.variants?.all ?? []).map((variant) => variant.alias.variant ?? '');
    let states = await book.states(experiment);
    if (names.some((name) => states.every(({ variant }) => variant !== name))) {
      await book.begin(experiment, names, clock.wallMs());
      states = await book.states(experiment);
    }
    if (
      compare !== 'nothing' &&
      (await takeOutWorse(parts, experiment, names, states, compare === 'day' ? dayMs : recentMs))
    ) {
      states = await book.states(experiment);
    }
    out.set(experiment, states);
  }

  function lookOnce(compare: 'nothing' | 'recent' | 'day'): Promise<void> {
    running ??= look(compare)
      .catch((error: unknown) => parts.onTrouble(`variants could not be compared: ${String(error)}`))
      .finally(() => {
        running = null;
      });
    return running;
  }

  return {
    look: lookOnce,
    /** Resolves when it is known what is out. It goes on until the function is called, which waits for a last look. */
    async start(): Promise<() => Promise<void>> {
      metrics.gauges(
        'culvert_variant_out',
        '1 while the variant is out because it is clearly worse.',
        'variant',
        'max',
        () => out.names().map((name) => [name, 1] as const),
      );
      await lookOnce('nothing');
      void lookOnce('day');
      const stop = every(readMs, () => {
        reads += 1;
        const isLook = reads % readsPerLook === 0;
        void lookOnce(isLook ? (reads % (readsPerLook * looksPerLongLook) === 0 ? 'day' : 'recent') : 'nothing');
      });
      return async () => {
        stop();
        await running;
      };
    },
  };
}

/** Compares each variant with the first one; whether one was taken out. */
async function takeOutWorse(
  { book, clock, log }: RollbackParts,
  experiment: Experiment,
  [first, ...others]: readonly string[],
  states: readonly VariantState[],
  spanMs: number,
): Promise<boolean> {
  const nowMs = clock.wallMs();
  const stateOf = (name: string | undefined) => states.find(({ variant }) => variant === name);
  const began = stateOf(first)?.sinceMs ?? nowMs;
  let changed = false;
  for (const variant of others) {
    const state = stateOf(variant);
    if (state === undefined || state.out !== null) continue;
    const fromMs = Math.max(began, state.sinceMs, nowMs - spanMs);
    const query = { alias: experiment.alias, accounts: null, fromMs, toMs: nowMs + 1 };
    const { times } = await book.results(query);
    const of = (name: string | undefined) => times.filter((row) => row.variant === name);
    const worse = clearlyWorse(of(first), of(variant));
    if (worse === null || !(await isWorseForAll(book, query, worse, { first: first ?? '', other: variant }))) continue;
    const { reason } = worse;
    if (!(await book.takeOut(experiment, variant, { atMs: nowMs, reason }))) continue;
    changed = true;
    log.warn({ model: experiment.alias, variant, reason }, 'a variant was taken out, because it is clearly worse');
  }
  return changed;
}

/**
 * Whether no single account decides it, unless there was only one all day, and what is slower is so for its callers: what
 * they ask for takes different times, and each stays with a variant.
 */
async function isWorseForAll(
  book: ExperimentBook,
  query: ResultsQuery,
  worse: Worse,
  of: { first: string; other: string },
): Promise<boolean> {
  if (worse.in === 'faults') return true;
  const apart = async (by: 'account' | 'caller', fromMs = query.fromMs) =>
    (await book.results({ ...query, fromMs, apart: { by, variants: [of.first, of.other], count: apartCount } })).times;
  const byAccount = await apart('account');
  const isOfOne = isOneAccount(byAccount) && isOneAccount(await apart('account', query.toMs - dayMs));
  if (!isOfOne && !isWorseWithoutAny(byAccount, worse, of)) return false;
  return worse.in === 'errors' || isSlowerByCaller(await apart('caller'), of);
}

/** Rows of all others have no name. */
function isOneAccount(rows: readonly VariantTimes[]): boolean {
  return new Set(rows.map(({ by }) => by)).size <= 1;
}
