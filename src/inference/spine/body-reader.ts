import type { TextChange, Texts } from '../../formats/neutral/json-texts.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { BodyAddition, PromptNamed } from '../models/prompted-body.ts';
import type { Canonical } from '../models/steps.ts';

/** Reads request bodies that are too large for the loop (`tooLargeForLoop`). `Bodies`: the results of each kind. */
export interface BodyReader<Bodies> extends ObjectReader, BodyLooks {
  readInThread<K extends keyof Bodies>(tenant: string, raw: Buffer, kind: K): Promise<Bodies[K] | Failure>;
}

/** Reads JSON objects that this thread goes on with. */
export interface ObjectReader {
  /**
   * By `kernel/parse-object`, off the loop where `raw` is large; `raw` stays as it is. An object with more values than
   * `loopWidthMax` is refused, since it has to come back.
   */
  readObject(tenant: string, raw: Buffer): ReadObject | Failure | Promise<ReadObject | Failure>;
}

/** An object of a caller, who names its members: in an object, so that none of them is taken for a Failure's. */
export interface ReadObject {
  body: JsonObject;
}

export interface BodyLooks {
  /**
   * Off the loop where the body is large; `raw` stays as it is. It was read before, or the look says otherwise. `kind`: of
   * `Bodies`, or a name.
   */
  look<L extends BodyLook>(
    tenant: string,
    raw: Buffer,
    kind: string,
    look: L,
  ): BodyAnswers<L> | Failure | Promise<BodyAnswers<L> | Failure>;
}

/** Questions about a body, as plain data. */
export type BodyLook =
  | { get: 'texts' | 'object' }
  | { get: 'canonical'; part?: 'question' }
  | { get: 'rewritten'; changes: readonly TextChange[] }
  | { get: 'named'; model: string }
  /** Prompt of a conversation that is not read yet. Null: it names none, or is not one that can be read. */
  | { get: 'prompt' }
  | { get: 'added'; addition: BodyAddition };

export type BodyAnswers<L extends BodyLook> = {
  texts: Texts;
  canonical: Canonical;
  object: ReadObject;
  rewritten: Buffer;
  named: Buffer;
  prompt: PromptNamed | null;
  added: Buffer;
}[L['get']];
