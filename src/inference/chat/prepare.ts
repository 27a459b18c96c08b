import type { Failure } from '../../kernel/failure.ts';
import type { DialectId, Result, UpstreamDialect } from '../dialects/dialect.ts';
import { upstreamDialectOf } from '../dialects/dialect-table.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import type { MediaUrl } from '../neutral/media-urls.ts';
import { dialectFor } from '../routing/capability.ts';
import type { Target } from '../routing/target.ts';
import type { EncodedBody } from '../spine/encode-forwarded.ts';
import type { ConversationBody, EncodeOrder, MediaWanted } from './conversation-body.ts';
import type { RequestMedia } from './request-media.ts';

/** What is sent to a target, and in whose format its answer comes. */
export interface PreparedConversation extends EncodedBody {
  upstreamDialect: UpstreamDialect;
}

/**
 * What an attempt at a target sends: the caller's own bytes where the target speaks the caller's dialect, which no
 * conversion touches, else the encoding of what they mean. Synchronous when the body is, so that the common case costs no
 * turn of the loop.
 */
export function prepareWith(
  body: ConversationBody,
  providers: ReadonlyMap<string, ConfiguredProvider>,
  child: EncodeOrder['child'],
  callerDialect: DialectId,
  media: RequestMedia,
): (target: Target) => PreparedConversation | Failure | Promise<PreparedConversation | Failure> {
  return (target) => {
    const dialect = dialectFor(target, callerDialect);
    const order: EncodeOrder = {
      provider: providers.get(target.provider)!.connection.provider.id,
      dialect,
      model: target.model,
      maxOutputTokens: target.maxOutputTokens,
      stream: target.stream && target.capabilities.streaming,
      neverStreams: !target.capabilities.streaming,
      wholeByStream: target.wholeByStream === true && target.capabilities.streaming,
      body: target.body,
      reasoning: target.capabilities.reasoning ? 'taken' : 'refused',
      child,
    };
    const finish = (encoded: Result<EncodedBody | MediaWanted>) =>
      encoded.ok && 'mediaWanted' in encoded.value
        ? withMedia(encoded.value.mediaWanted, order)
        : prepared(encoded as Result<EncodedBody>, dialect, child);
    const encoded = body.encode(order);
    return encoded instanceof Promise ? encoded.then(finish) : finish(encoded);

    async function withMedia(wanted: readonly MediaUrl[], first: EncodeOrder): Promise<PreparedConversation | Failure> {
      const fetched = await media.get(wanted);
      if (!fetched.ok) return fetched.failure;
      const again = await body.encode({ ...first, media: fetched.value });
      if (again.ok && 'mediaWanted' in again.value) throw new Error('media were given and are wanted still');
      return prepared(again as Result<EncodedBody>, dialect, child);
    }
  };
}

function prepared(
  encoded: Result<EncodedBody>,
  dialect: DialectId,
  child: EncodeOrder['child'],
): PreparedConversation | Failure {
  if (!encoded.ok) return encoded.failure;
  // A child's answer is merged with others: its bytes cannot be the caller's even in the same dialect.
  const answer = child === null ? encoded.value.answer : 'converted';
  return { ...encoded.value, answer, upstreamDialect: upstreamDialectOf(dialect) };
}
