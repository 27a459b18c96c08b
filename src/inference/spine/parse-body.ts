import { invalid } from '../../kernel/failure.ts';
import { type ParsedObject, parseObject } from '../../kernel/parse-object.ts';
import type { Result } from '../dialects/dialect.ts';
import { folded } from '../dialects/named-objects.ts';

/**
 * The body of a request to a model, by `kernel/parse-object`. It goes on as bytes and is read twice: by us, who decide by
 * it, and by an upstream with another parser. A body that the two could read differently is refused (faults.md S21).
 */
export function parseBody(raw: Buffer): Result<ParsedObject> {
  const parsed = parseObject(raw);
  if (!parsed.ok) return parsed;
  const { body } = parsed.value;
  for (const name of Object.keys(body)) {
    if (/^[a-z_]+$/.test(name)) continue;
    const plain = folded(name);
    if (plain === name || !Object.hasOwn(body, plain)) continue;
    const message = `The body also has '${plain}' in another spelling, which some servers read instead.`;
    return { ok: false, failure: invalid(name.slice(0, 64), message) };
  }
  return parsed;
}
