import type { JsonObject } from '../kernel/json.ts';
import type { UsageEvent } from './ledger.ts';

/** A settled request as people read it, over HTTP and in exports: with the explanation of its route. */
export function requestRecord(event: UsageEvent) {
  return {
    object: 'request' as const,
    id: event.requestId,
    client_request_id: event.clientRequestId,
    created_at: new Date(event.atMs).toISOString(),
    endpoint: event.endpoint,
    model: event.alias,
    tier: event.tier,
    target: event.target,
    status: event.status,
    class: event.class,
    stream: event.stream,
    aborted: event.aborted,
    ms: event.ms,
    first_token_ms: event.firstTokenMs,
    usage: {
      input_tokens: event.inputTokens,
      output_tokens: event.outputTokens,
      cached_input_tokens: event.cachedInputTokens,
      reasoning_tokens: event.reasoningTokens,
      // Of speech, transcription and images alone.
      ...(event.characters > 0 && { characters: event.characters }),
      ...(event.audioMs > 0 && { audio_ms: event.audioMs }),
      ...(event.images > 0 && { images: event.images }),
      source: event.usageSource,
    },
    units: event.costMilli / 1_000,
    cost_usd: event.costUsd,
    user: event.user,
    route: event.route as unknown as JsonObject,
  };
}
