import type { Link } from '../kernel/threads/link.ts';
import { withinMs } from '../kernel/within-ms.ts';
import { type SeriesValues, sumOfCounts } from '../observe/metrics.ts';
import type { WorkerOffers } from './worker-seat.ts';

/** How long a scrape waits for the figures of a worker. */
const scrapeMaxMs = 2_000;

/** Figures of the workers for scrapes of metrics. */
export class WorkerFigures {
  /** The last ones that each worker sent. */
  readonly #sent = new Map<Link<WorkerOffers>, SeriesValues>();
  /** Counts of workers that are gone: a sum that fell would read as a restart of the server. */
  #countsOfEnded: Promise<SeriesValues> = Promise.resolve([]);

  /** Asks these workers. One that is too slow counts as it did at the scrape before. */
  async scrape(workers: readonly Link<WorkerOffers>[]): Promise<SeriesValues[]> {
    const answers = workers.map(async (link) => this.#sent.set(link, await link.ask('measure')));
    await withinMs(scrapeMaxMs, Promise.allSettled(answers), null);
    return [await this.#countsOfEnded, ...this.#sent.values()];
  }

  /** Counts a worker that has ended as it did last. Nothing that it was asked is answered any more. */
  end(link: Link<WorkerOffers>): void {
    const sent = this.#sent.get(link);
    if (sent === undefined) return;
    this.#sent.delete(link);
    this.#countsOfEnded = this.#countsOfEnded.then((before) => sumOfCounts([before, sent]));
  }
}
