import type { Failure } from '../../kernel/failure.ts';
import type { DialectId, Result } from '../dialects/dialect.ts';
import { dialectFor, type Target } from '../routing/target.ts';
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
  callerDialect: DialectId,
): (target: Target) => PreparedBody | Failure | Promise<PreparedBody | Failure> {
  return (target) => {
    const dialect = dialectFor(target, callerDialect);
    const encoded = body.encode({
      provider: providers.get(target.provider)!.connection.provider.id,
      dialect,
      model: target.model,
      maxOutputTokens: target.maxOutputTokens,
      stream: target.stream,
      body: target.body,
      reasoning: target.capabilities.reasoning ? 'taken' : 'refused',
      child,
    });
    return encoded instanceof Promise
      ? encoded.then((result) => prepared(result, dialect, child))
      : prepared(encoded, dialect, child);
  };
}

function prepared(
  encoded: Result<EncodedBody>,
  dialect: DialectId,
  child: EncodeOrder['child'],
): PreparedBody | Failure {
  if (!encoded.ok) return encoded.failure;
  // A child's answer is merged with others: its bytes cannot be the caller's even in the same dialect.
  const answer = child === null ? encoded.value.answer : 'converted';
  return { ...encoded.value, answer, upstreamDialect: upstreamDialectOf(dialect) };
}
