import type { Config } from '../../config/schema.ts';
import type { OutVariants } from './alias.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { ModelTable } from './model-table.ts';
import type { PromptTable } from './prompts.ts';
import type { RouteRule } from './route-rules.ts';
import type { StepTable } from './steps.ts';

/** One state of the configuration, replaced whole by a reload. */
export interface Snapshot {
  config: Config;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  models: ModelTable;
  /** A confirmed SearXNG of this machine, where the configuration names no search engine. */
  localSearch: string | null;
  /** Steps over requests and answers; null: there are none, and no code of theirs is entered. */
  steps: StepTable | null;
  /** Null: there are none. */
  prompts: PromptTable | null;
  /** Rules that send requests elsewhere, in their order; null: there are none, and no code of theirs is entered. */
  rules: readonly RouteRule[] | null;
  /** Whether a model has variants. */
  varies: boolean;
  /** Whether a provider is asked with its callers' own credentials. */
  takesCallers: boolean;
  /** Variants of models with `rollback: auto` that are out; absent: none is. */
  out?: OutVariants | undefined;
  /** Not null while the price list is loaded after a start: requests wait for it, and for the snapshot with it. */
  pricing: Promise<void> | null;
}

/** The state in force, replaced as it changes: a request reads it once for all that must agree. */
export interface Snapshots {
  readonly current: Snapshot;
}
