import type { UsageEvent } from '../../books/metering/ledger.ts';
import type { Config } from '../../config/schema.ts';
import type { ScopedStep } from '../models/steps.ts';
import type { HookParts } from './hook-parts.ts';

/** The hooks in force, and how others take their place. */
export class LiveHooks {
  /** Gets each settled request; null: no hook wants it. */
  settled: ((event: UsageEvent) => void) | null = null;
  #opened: Promise<{ use(config: Config): Promise<readonly ScopedStep[]>; close(): Promise<void> }> | null = null;

  /** The hooks of a configuration as steps. Their code is loaded where there are hooks. */
  async stepsOf(config: Config, parts: HookParts): Promise<readonly ScopedStep[]> {
    if (this.#opened === null && Object.keys(config.hooks).length === 0) return [];
    this.#opened ??= import('./hook-keeper.ts').then(({ createHookKeeper }) => createHookKeeper(parts, this));
    return (await this.#opened).use(config);
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}
