import type { AccountStore } from '../books/auth/account-store.ts';
import type { Sessions } from '../books/auth/sessions.ts';
import type { SetupReport } from '../books/auth/setup.ts';
import type { CacheStore } from '../books/metering/cache-store.ts';
import type { Counters } from '../books/metering/counters.ts';
import type { Ledger } from '../books/metering/ledger.ts';
import type { NoticeStore } from '../books/metering/notices/notice-store.ts';
import type { PlanBook } from '../books/metering/plan-book.ts';
import type { SeenProcess } from '../books/metering/replicas.ts';
import type { SealedStep } from '../books/metering/sealed-columns.ts';
import type { ConfigResult } from '../config/check.ts';
import type { ConfigProblem } from '../config/problem.ts';
import type { Config } from '../config/schema.ts';
import type { LocalServer } from '../formats/providers/probe-local.ts';
import type { BodyKeeper } from '../inference/endpoints/body-keeper.ts';
import type { CompareAnswers } from '../inference/endpoints/compare-answers.ts';
import type { LoggedBodies } from '../inference/endpoints/services.ts';
import type { ExplainServices } from '../inference/families/chat/services.ts';
import type { Snapshots } from '../inference/models/snapshot.ts';
import type { CheckedHits } from '../inference/spine/answer-cache.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Sealer } from '../kernel/seal.ts';
import type { SendMail } from '../net/send-mail.ts';
import type { Health } from '../routing/health.ts';
import type { Agents } from '../tools/a2a/agents.ts';
import type { McpGrants } from '../tools/mcp/grants.ts';
import type { McpLogins } from '../tools/mcp/logins.ts';
import type { UpstreamServers } from '../tools/mcp/upstream-servers.ts';
import type { EngineOperator } from '../tools/search/engine-operator.ts';
import type { Transport } from '../upstream/transport/upstream-call.ts';
import type { VectorOperator } from '../vectors/vector-operator.ts';
import type { Finding } from './finding.ts';

/** Bodies that the log has, by the id of their request. */
export type BodiesByRequest = ReadonlyMap<string, LoggedBodies>;

/** Parts that the admin API works on; the composition root gives it. */
export interface AdminParts {
  clock: Clock;
  /** Culvert's own. */
  version: string;
  store: AccountStore;
  /** After a change of the store: brings key ring and plan book of this process up to it. May reject: others see it too. */
  refresh(): Promise<unknown>;
  /** Writes from where this process saw keys used, so that the store knows it; absent: no server runs. */
  writePlaces?(): Promise<void>;
  ledger: Pick<
    Ledger,
    | 'list'
    | 'find'
    | 'usage'
    | 'traffic'
    | 'attempts'
    | 'cacheUses'
    | 'promptCacheDays'
    | 'reprice'
    | 'repriced'
    | 'buckets'
    | 'openReservations'
    | 'experiments'
    | 'statements'
  >;
  plans(): PlanBook;
  /** Tells how full an account's windows are; null where nobody can tell, as in the process of the CLI. */
  counters: Pick<Counters, 'read' | 'running'> | null;
  /** The configuration in force, and what was made from it. */
  readonly snapshots: Snapshots;
  health: Health;
  transport: Transport;
  /** Services that plans of conversations ask, for explanations. */
  planning: ExplainServices;
  /** Vector data; rejects with a FailureError where it cannot be touched. Opened when it is first asked for. */
  vectors(): Promise<VectorOperator>;
  /** Answers kept for equal requests; may reject. */
  cache: Pick<CacheStore, 'clear' | 'stats'>;
  /** Hits of semantic caches that this process checked, by model; absent: no server runs. */
  cacheChecked?: () => ReadonlyMap<string, CheckedHits>;
  /** Processes that share the stores, with this one where it serves; may reject. */
  processes(): Promise<readonly SeenProcess[]>;
  /** Engines of web search. */
  engines: EngineOperator;
  /** MCP servers elsewhere; null where no server runs. */
  mcp: (Pick<UpstreamServers, 'get'> & Pick<McpLogins, 'begin'>) | null;
  /** Agents elsewhere; null where no server runs. */
  agents: (() => Promise<Pick<Agents, 'get'>>) | null;
  /** Grants from operators' logins at MCP servers. */
  mcpGrants: Pick<McpGrants, 'list' | 'remove' | 'reseal'>;
  /** Sessions of the dashboard; null when no server runs, or it has none. */
  sessions: Sessions | null;
  /** The configuration file as messages name it; null when there is none. */
  configFile: string | null;
  /** The present text of the configuration file, '' for none; null when it cannot be read. */
  configText(): string | null;
  /** A text as if it stood in the configuration file. */
  checkConfig(text: string): Promise<ConfigResult> | ConfigResult;
  /** Reads the configuration file again and takes it into use; with errors nothing changes. */
  reload(mode: ReloadMode): Promise<Reloaded>;
  setup: AdminSetup;
  sealedStep: SealedStep;
  /** Dependencies of this process: by name, why it cannot be used, null when it can. */
  troubles(): Readonly<Record<string, string | null>>;
  /**
   * Findings of `culvert doctor` about machine, data folder, stores and providers, as far as a running server can
   * look. `budgeted`: globs of the models whose requests a budget in USD counts.
   */
  findings(budgeted: ReadonlySet<string>): Promise<readonly Finding[]>;
  /** Providers of each capability, and which programs would add more. */
  capabilities(): Promise<readonly Finding[]>;
  /** Alerts and notices that wait, and what became of others; may reject. */
  notices: Pick<NoticeStore, 'list'>;
  /** Sends a test message to a receiver of alerts; null when it arrived, else why it did not. */
  tryAlert(receiver: string): Promise<string | null>;
  /** Sends a mail by the server that `server.smtp` names. */
  mail: SendMail;
  /** A backup, ready to be read; rejects with a FailureError where none can be made. */
  backup(): Promise<AsyncIterable<Uint8Array>>;
  /** Bodies that this server keeps in memory, without credentials, by the ids of their requests; others are left out. */
  bodies(requestIds: readonly string[]): Promise<BodiesByRequest>;
  /** Bodies that operators want kept; absent: no server runs. */
  bodyKeeper?: Pick<BodyKeeper, 'find' | 'list' | 'open' | 'remove' | 'signatures'>;
  /** Compares kept answers with those of other models; absent: no server runs. */
  compareAnswers?: () => Promise<CompareAnswers>;
  /** Called for a store that could not be asked; the caller got a 503. */
  onStoreError(error: unknown): void;
}

/** Settings made while Culvert runs, in addition to the file. */
export interface AdminSetup {
  /** The configuration of the file alone. */
  file(): Config;
  env: Readonly<Record<string, string | undefined>>;
  /** Report of the last look at the store. */
  report(): SetupReport;
  /** Credentials in the store, opened with the current secrets. */
  sealer(): Sealer;
  secrets: {
    source: 'configuration' | 'data folder';
    name(): string;
    /** How many of them only this secret opens. */
    earlier(): number;
    /** Makes a new secret that seals from now on. Works in a data folder only. */
    renew(): void;
    /** Works in a data folder only. */
    forgetEarlier(): void;
  };
  /** Resolves when what this process knows of the store is in force, and its providers have been asked for a while. */
  applied(): Promise<void>;
  /** Servers on this machine; null where the configuration says not to look. */
  found(): Promise<readonly LocalServer[] | null>;
}

/** `careful`: a configuration that would drop every declared key changes nothing either. */
export type ReloadMode = 'careful' | 'force';

/** `atNextStart`: changed settings that only a start takes, such as `server.port`. */
export type Reloaded =
  | { ok: true; config: Config; atNextStart?: readonly string[] }
  | { ok: false; errors: readonly ConfigProblem[] };
