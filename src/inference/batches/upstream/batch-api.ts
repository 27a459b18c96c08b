import type { UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import type { UpstreamClient } from './upstream-client.ts';

export interface BatchOrder {
  /** No other batch has it. */
  name: string;
  /** The vendor's name for the endpoint of its lines. */
  url: string;
  model: string;
  lines: number;
  /** JSON lines. */
  content: UpstreamUpload;
  /** `anthropic-beta` of its requests; null: none. */
  beta: string | null;
  /** Wall-clock ms before which it was not begun. */
  sinceMs: number;
}

/** A vendor's own batch API. Each call rejects with an UpstreamTrouble. */
export interface UpstreamBatches {
  /** A line of the content of a batch, without its end. `body`: JSON in one line. */
  line(customId: string, url: string, body: string): string;
  /** Begins a batch and resolves to its id there. */
  begin(client: UpstreamClient, order: BatchOrder): Promise<string>;
  /** Batches have no names there: `find` guesses. */
  guesses?: true;
  /**
   * The id of a batch that was begun for the same order, though nobody noted it; null: there is none. `isOurs`: it is
   * known as one of another order.
   */
  find(
    client: UpstreamClient,
    order: Omit<BatchOrder, 'content'>,
    isOurs: (id: string) => boolean,
  ): Promise<string | null>;
  look(client: UpstreamClient, id: string): Promise<BatchProgress>;
  cancel(client: UpstreamClient, id: string): Promise<void>;
  /** Answers of a batch that has ended, in any order. */
  results(client: UpstreamClient, progress: BatchProgress): AsyncGenerator<BatchAnswer, void, undefined>;
  /** Removes what the batch has left there. */
  remove(client: UpstreamClient, progress: BatchProgress): Promise<void>;
}

export interface BatchAnswer {
  customId: string;
  /** The answer that the request itself would have got; null: it was not answered. */
  body: string | null;
}

export interface BatchProgress {
  id: string;
  ended: boolean;
  succeeded: number;
  /** Files of answers, and all files that it has there. */
  answers: readonly string[];
  files: readonly string[];
}
