import type { Clock } from '../../kernel/clock.ts';
import type { Lease } from '../../kernel/leased-jobs.ts';
import type { HostTurns } from '../../net/host-turns.ts';
import type { PageReader } from '../page-reader.ts';
import type { SiteFileReader } from '../site-files.ts';
import type { CrawlMeter, CrawlSink } from './crawl-ports.ts';
import type { Crawl, CrawlStore, FoundUrl, FoundUrls, TakenPage } from './crawl-store.ts';
import type { CrawlThreads } from './crawl-threads.ts';

export interface CrawlParts {
  store: CrawlStore;
  reader: PageReader;
  files: SiteFileReader;
  turns: HostTurns;
  threads: CrawlThreads;
  meter: CrawlMeter;
  /** Null: there is no vector store to write to. */
  sink: CrawlSink | null;
  clock: Clock;
  /** Resolves after so long, or at once when the signal is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** How long results are kept. */
  retentionMs(): number;
  /** There is something for a webhook. */
  hooked(): void;
}

/** The found links that become pages. */
export interface Frontier {
  readonly rowsMax: number;
  /** Null: the caller's patterns take too long. */
  of(links: readonly string[], depth: number): Promise<readonly FoundUrl[] | null>;
  found(urls: readonly FoundUrl[]): FoundUrls;
  /** Whether a redirect of this page stayed within the crawl, which follows the first page wherever it leads. */
  holds(page: TakenPage, url: string): boolean;
}

/** One crawl in the hands of this process. */
export interface CrawlRun extends CrawlParts {
  crawl: Crawl;
  lease: Lease;
  /** Cancelled, lost to another process, or we stop: nothing is begun any more. */
  signal: AbortSignal;
  /** We stop. */
  stopping: AbortSignal;
}
