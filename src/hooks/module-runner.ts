import { pathToFileURL } from 'node:url';
import { createTurns, type Turns } from '../kernel/sharing/turns.ts';
import { changedMs, type FoundModule } from './find-module.ts';
import type { HookOutcome, HookRunner } from './hook-call.ts';
import { type HookName, onlyLook } from './hook-names.ts';
import type { HookThreadData } from './hook-order.ts';
import { HookThread, type HookThreadOptions } from './hook-thread.ts';

interface ModuleRunnerOptions extends Omit<HookThreadOptions, 'data'>, Pick<HookThreadData, 'folder' | 'settings'> {
  found: FoundModule;
}

/** Calls under way, of all accounts and of one. */
const underWayMax = 64;
const underWayOfOne = 16;
const waitingMax = 1_024;
const tenantWaitingMax = 256;
/** A runner that is replaced lets its thread go when nothing has asked it for so long: streams that began under it go on. */
const retiredIdleMs = 120_000;

/** A module in its own thread, with turns between accounts. */
export class ModuleRunner implements HookRunner {
  readonly #options: ModuleRunnerOptions;
  readonly #turns: Turns;
  readonly #thread: HookThread | null = null;
  #idle: NodeJS.Timeout | null = null;
  #retired = false;
  #ended = () => {};

  constructor(options: ModuleRunnerOptions) {
    this.#options = options;
    const { found, folder, settings, ...thread } = options;
    this.#turns = createTurns({
      name: `Calls of the hook '${thread.name}'`,
      places: underWayMax,
      tenantPlaces: underWayOfOne,
      waitingMax,
      tenantWaitingMax,
    });
    if ('missing' in found) return;
    const module = 'file' in found ? String(pathToFileURL(found.file)) : found.package;
    this.#thread = new HookThread({ ...thread, data: { module, folder, settings } });
  }

  get functions(): ReadonlySet<HookName> | null {
    return this.#thread?.functions ?? null;
  }

  isCurrent(): boolean {
    return this.#thread?.files.every(([path, readMs]) => changedMs(path) === readMs) ?? true;
  }

  async load(): Promise<string | null> {
    const { found } = this.#options;
    return 'missing' in found ? found.missing : ((await this.#thread?.load()) ?? null);
  }

  async call(on: HookName, account: string, data: object): Promise<HookOutcome> {
    const thread = this.#thread;
    if (thread === null) return { ok: false, why: 'it could not be loaded' };
    if (this.#retired) this.#restUntilIdle();
    const signal = this.#turns.hasPlace(account) ? null : AbortSignal.timeout(waitMaxMs);
    // Nobody waits for what only looks: without a place it is left out.
    if (signal !== null && onlyLook.has(on)) return tooMany;
    const turn = await this.#turns.take(account, signal).catch(() => null);
    if (turn === null) return tooMany;
    try {
      return await thread.run(on, data);
    } finally {
      turn.giveBack();
    }
  }

  retire(ended: () => void): void {
    this.#retired = true;
    this.#ended = ended;
    this.#restUntilIdle();
  }

  #restUntilIdle(): void {
    this.#idle ??= setTimeout(() => {
      this.#idle = null;
      if (this.#turns.idle()) {
        this.#thread?.letGo();
        this.#ended();
      } else this.#restUntilIdle();
    }, retiredIdleMs);
    this.#idle.unref();
    this.#idle.refresh();
  }

  async close(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    await this.#thread?.close();
  }
}

/** How long a request waits for the turn of its account. */
const waitMaxMs = 5_000;

const tooMany: HookOutcome = { ok: false, why: 'too many calls of this account are under way' };
