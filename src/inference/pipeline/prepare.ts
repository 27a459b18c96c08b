import type { Failure } from '../../kernel/failure.ts';
import type { Result } from '../dialects/dialect.ts';
import type { Target } from '../routing/target.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { ConversationBody, EncodedBody, EncodeOrder } from './conversation-body.ts';
import { upstreamDialectOf } from './dialect-table.ts';
import type { PreparedBody } from './job.ts';

/**
 * What an attempt at a target sends. Synchronous when the body is, so that the common case costs no turn of the loop.
 */
export function prepareWith(
  body: ConversationBody,
  providers: ReadonlyMap<string, ConfiguredProvider>,
  child: EncodeOrder['child'],
): (target: Target) => PreparedBody | Failure | Promise<PreparedBody | Failure> {
  return (target) => {
    const encoded = body.encode({
      provider: providers.get(target.provider)!.connection.provider.id,
      dialect: target.dialect,
      model: target.model,
      maxOutputTokens: target.maxOutputTokens,
      stream: target.stream,
      body: target.body,
      child,
    });
    return encoded instanceof Promise
      ? encoded.then((result) => prepared(result, target, child))
      : prepared(encoded, target, child);
  };
}

function prepared(encoded: Result<EncodedBody>, target: Target, child: EncodeOrder['child']): PreparedBody | Failure {
  if (!encoded.ok) return encoded.failure;
  // A child's answer is merged with others: its bytes cannot be the caller's even in the same dialect.
  const answer = child === null ? encoded.value.answer : 'converted';
  return { ...encoded.value, answer, upstreamDialect: upstreamDialectOf(target.dialect) };
}
