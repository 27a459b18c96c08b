import type { Duplex } from 'node:stream';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import type { Link } from '../../kernel/threads/link.ts';
import { remoteOf } from '../../kernel/threads/remote.ts';
import { createBodyMemory } from '../../vectors/body-memory.ts';
import { fromTexts, type TextPage } from '../../vectors/page-texts.ts';
import type { Prepared, RankTexts } from '../../vectors/vector-engine.ts';
import type { VectorStore } from '../../vectors/vector-store.ts';
import type { StoreMethod } from '../../vectors/worker-messages.ts';
import type { VectorWorkers } from '../../vectors/worker-pool.ts';
import { createByteLink } from '../byte-link.ts';
import type { SentPrepared, VectorsOffers } from './vectors-offers.ts';

/** Calls that were paid are reported with the next call, and after this time without one. */
const paidAfterMs = 20;

const unreachable: Failure = { kind: 'overloaded', message: 'The vector store cannot be reached. Retry it.' };

/** The embedded vectors that another process of this server has. `open` gives the stream to it, at the first use. */
export function askVectors(open: () => Duplex, onStoredBytes: (bytes: number) => void): VectorWorkers {
  let link: Link<VectorsOffers> | null = null;
  /** Calls that run now and may find texts to rank. */
  const ranks = new Map<number, RankTexts>();
  let trouble: string | null = null;
  const payments = createPayments((paid) => host().notify('paid', paid));

  function host(): Link<VectorsOffers> {
    link ??= createByteLink<VectorsOffers>(
      open(),
      { rank: (number: number, found: never) => ranks.get(number)?.(found) ?? unreachable, stored: onStoredBytes },
      () => undefined,
    );
    return link;
  }

  function preparedOf({ number, ran, ...needs }: SentPrepared): Prepared {
    return {
      ...needs,
      ran,
      async run(embedded, rank) {
        if (ran !== null) {
          payments.add(number);
          return ran;
        }
        ranks.set(number, rank);
        const answer = await host().ask('run', number, embedded).catch(failureOf);
        ranks.delete(number);
        return answer;
      },
      drop: () => host().notify('drop', number),
    };
  }

  return {
    bodyMemory: createBodyMemory(),
    async prepare(call) {
      const sent = await host().ask('prepare', call, payments.take()).catch(failureOf);
      return sent.kind === 'prepared' ? preparedOf(sent) : sent;
    },
    storedBytes: (account) =>
      host()
        .ask('storedBytes', account)
        .catch(() => null),
    trouble() {
      // The answer is for the next time.
      if (link !== null) {
        link.ask('trouble').then(
          (now) => {
            trouble = now;
          },
          () => undefined,
        );
      }
      return trouble;
    },
    takeUpImages() {},
    store: remoteOf<VectorStore>(async (method, args) => {
      const result = await host().ask('store', method as StoreMethod, args);
      return method === 'scroll' ? fromTexts(result as TextPage) : result;
    }),
    async close() {},
  };
}

/** Paid calls that are not reported yet: a message for each would wake the other process once more for a search. */
function createPayments(report: (paid: number[]) => void) {
  let paid: number[] = [];
  let timer: NodeJS.Timeout | null = null;
  function take(): number[] {
    const all = paid;
    paid = [];
    return all;
  }
  return {
    add(number: number): void {
      paid.push(number);
      if (timer !== null) return;
      timer = setTimeout(() => {
        timer = null;
        if (paid.length > 0) report(take());
      }, paidAfterMs).unref();
    },
    take,
  };
}

function failureOf(error: unknown): Failure {
  return error instanceof FailureError ? error.failure : unreachable;
}
