import { relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Reloaded, ReloadMode } from '../admin/parts.ts';
import type { ConfigResult } from '../config/check.ts';
import { whyNotReplaced } from '../config/declared.ts';
import { type ConfigProblem, formatProblem } from '../config/problem.ts';
import type { Config } from '../config/schema.ts';
import { isOtherLogin } from '../config/store-logins.ts';
import { type ConfigWatch, factsOf, settled, watchConfig } from '../config/watch.ts';
import { terminalClosed } from '../kernel/terminal-closed.ts';
import type { Log } from '../observe/log.ts';

export interface ReloadsParts {
  /** Reads it again, and applies the command line over it. */
  load(): Promise<ConfigResult>;
  file: string | null;
  /** The configuration that the start read. */
  loaded: ConfigResult & { ok: true };
  log: Log;
  flush(): void;
  apply(config: Config): Promise<void>;
  /** Writes it into the audit log. Not called for a reload by the admin API, which does so for its operator. */
  note(reload: NotedReload): Promise<void>;
}

/** A reload that no operator has called for. */
export interface NotedReload {
  why: string;
  at_next_start: readonly string[];
}

/** Exit code of a start whose terminal was closed. */
const hungUp = 129;

/** By an operator, whom the admin API knows. */
export const reloadByAdmin = 'the admin API';

/** The configuration in force, and the ways to another one without a restart: its file changes, a signal, the admin API. */
export class Reloads {
  readonly #parts: ReloadsParts;
  #current: Config;
  #sources: readonly string[];
  readonly #known: string;
  #watch: ConfigWatch | null = null;
  #settling: Promise<void> | null = null;
  #loading: Promise<unknown> = Promise.resolve();
  readonly #begun = Promise.withResolvers<void>();

  /** From now on no SIGHUP ends the process. */
  constructor(parts: ReloadsParts) {
    this.#parts = parts;
    this.#current = parts.loaded.config;
    this.#sources = parts.loaded.sources;
    this.#known = factsOf(this.#sources);
    process.on('SIGHUP', () => {
      if (!terminalClosed()) void this.#begun.promise.then(() => this.reload('SIGHUP', 'careful'));
      else if (this.#watch === null) process.exit(hungUp);
    });
  }

  get current(): Config {
    return this.#current;
  }

  /** The server has started: from now on it reacts to changes of its files and to SIGHUP, also to one before. */
  begin(): void {
    this.#watch = watchConfig({
      sources: this.#sources,
      known: this.#known,
      onChange: () => void this.reload('the file changed', 'careful'),
    });
    this.#begun.resolve();
  }

  /** `why` goes to the log. A configuration with errors changes nothing. */
  async reload(why: string, mode: ReloadMode): Promise<Reloaded> {
    const { load, log, flush } = this.#parts;
    this.#settling ??= settled(this.#sources).finally(() => {
      this.#settling = null;
    });
    await this.#settling;
    // In turn: what is read last is what is in force.
    const loading = this.#loading.then(load, load);
    this.#loading = loading;
    const loaded = await loading;
    const next = mode === 'force' ? loaded : this.#replacing(loaded);
    this.#sources = next.sources;
    this.#watch?.update(next.sources);
    const before = this.#current;
    const errors = next.ok ? await this.#taken(next.config) : next.errors;
    if (!next.ok || errors.length > 0) {
      log.error(
        { errors: errors.map(formatProblem) },
        `configuration not reloaded (${why}): it has errors, so the old one stays in use`,
      );
      flush();
      return { ok: false, errors };
    }
    const { config } = next;
    const atNextStart = needsRestart(this.#parts.loaded.config, config);
    for (const key of atNextStart) log.warn(`${key} changed: it takes effect at the next start`);
    log.info(`configuration reloaded (${why})`);
    flush();
    // Anybody may touch a file, but a signal is an operator's act.
    if (why === 'SIGHUP' || (why !== reloadByAdmin && !isDeepStrictEqual(before, config))) {
      await this.#parts
        .note({ why, at_next_start: atNextStart })
        .catch((error: unknown) => log.warn({ error: String(error) }, 'the reload is not in the audit log'));
    }
    return { ok: true, config, atNextStart };
  }

  /** Takes it into use in every process, or in none: why it cannot be. */
  async #taken(config: Config): Promise<readonly ConfigProblem[]> {
    const { apply, log } = this.#parts;
    const before = this.#current;
    const use = (one: Config) => {
      this.#current = one;
      log.level = one.telemetry.log.level;
      return apply(one);
    };
    try {
      await use(config);
      return [];
    } catch (error) {
      // Another reload may have begun meanwhile, which counts.
      if (this.#current === config) await use(before).catch((again: unknown) => log.error(String(again)));
      return [this.#problem('', error instanceof Error ? error.message : String(error))];
    }
  }

  /** Its files are not looked at any more. */
  close(): void {
    this.#watch?.close();
  }

  /** A file that was cut where a list begins is valid, and must not lock everybody out. */
  #replacing(next: ConfigResult): ConfigResult {
    const message = next.ok ? whyNotReplaced(this.#current, next.config) : null;
    if (message === null || this.#parts.file === null) return next;
    return { ok: false, errors: [this.#problem('keys', message)], sources: next.sources };
  }

  #problem(path: string, message: string): ConfigProblem {
    return { file: relative('', this.#parts.file ?? 'culvert.yaml'), line: 1, column: 1, path, message };
  }
}

/** Settings that are read once, at the start. */
const takenAtStart = [
  ['server', 'host'],
  ['server', 'port'],
  ['server', 'processes'],
  ['storage', 'data_dir'],
  ['storage', 'database'],
  ['storage', 'state'],
  ['storage', 'on_state_loss'],
  ['storage', 'secret'],
  ['storage', 'earlier_secrets'],
  ['telemetry', 'prometheus'],
  ['vectors'],
] as const satisfies (readonly [keyof Config, string?])[];

function settingOf(config: Config, section: keyof Config, name?: string): unknown {
  const whole = config[section];
  return name === undefined ? whole : Reflect.get(whole as object, name);
}

/** `config` with what a server that started with `started` still uses. Other logins to the same stores are new ones. */
export function withTakenAtStart(started: Config, config: Config): Config {
  const joined = { ...config };
  for (const [section, name] of takenAtStart) {
    const setting = settingOf(started, section, name);
    if (isOtherLogin(setting, settingOf(config, section, name))) continue;
    Object.assign(joined, { [section]: name === undefined ? setting : { ...joined[section], [name]: setting } });
  }
  return joined;
}

function needsRestart(before: Config, after: Config): string[] {
  const changed = takenAtStart.filter(([section, name]) => {
    const [old, next] = [settingOf(before, section, name), settingOf(after, section, name)];
    return JSON.stringify(old) !== JSON.stringify(next) && !isOtherLogin(old, next);
  });
  return changed.map((path) => path.join('.'));
}
