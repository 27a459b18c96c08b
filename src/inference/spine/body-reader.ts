import type { Result } from '../../formats/dialects/dialect.ts';
import type { JsonObject } from '../../kernel/json.ts';

/** Reads request bodies: small ones here and now, large ones off the loop. `Bodies`: the results of each kind. */
export interface BodyReader<Bodies> extends ObjectReader {
  read<K extends keyof Bodies>(tenant: string, raw: Buffer, kind: K): Result<Bodies[K]> | Promise<Result<Bodies[K]>>;
}

/** Reads JSON objects that this thread goes on with. */
export interface ObjectReader {
  /**
   * By `kernel/parse-object`, off the loop where `raw` is large; `raw` stays as it is. An object with more values than
   * `loopWidthMax` is refused, since it has to come back.
   */
  readObject(tenant: string, raw: Buffer): Result<JsonObject> | Promise<Result<JsonObject>>;
}
