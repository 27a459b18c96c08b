import type { DialectId } from '../../formats/dialects/dialect.ts';

/** Form of an answer that was kept as its upstream's bytes. */
export interface PassedForm {
  dialect: DialectId;
  streamed: boolean;
  contentType: string;
  /** Choices of a stream that its request asked for. */
  choices: number;
  /** Count for answers whose upstream reports no counts. */
  inputTokensEstimate: number;
  /** Parts of its request that answers of its format must follow. */
  settings: string;
  /** Id of the answer; null: none could be found in it. */
  id: string | null;
}
