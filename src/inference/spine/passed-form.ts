import type { DialectId } from '../../formats/dialects/dialect.ts';

/** How an answer that was kept as its upstream's own bytes is read. */
export interface PassedForm {
  dialect: DialectId;
  streamed: boolean;
  contentType: string;
  /** Of a stream: choices that its request asked for. */
  choices: number;
  /** Stands where the upstream tells no counts. */
  inputTokensEstimate: number;
  /** Parts of its request that answers of its format must follow. */
  wishes: string;
  /** Its own id; null: it has none that could be found in it. */
  id: string | null;
}
