import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import { count, exactUsd, span, usd } from '../../parts/format.ts';
import type { Facts } from './conversation.ts';

/** Time, tokens and cost of one answer. */
export function FactsLine({ facts, children }: { facts: Facts; children?: ReactNode }) {
  const { firstMs, ms, inputTokens, outputTokens, costUsd, provider, requestId, dropped } = facts;
  const perSecond =
    ms !== null && firstMs !== null && ms - firstMs > 200 && outputTokens !== null
      ? (outputTokens / (ms - firstMs)) * 1_000
      : null;
  const operator = useSession().kind === 'operator';
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5 text-muted text-xs">
      {ms !== null && (
        <span title={firstMs === null ? undefined : `First token after ${span(firstMs)}`}>
          {span(ms)}
          {firstMs !== null && <span className="text-faint"> · first {span(firstMs)}</span>}
        </span>
      )}
      {(inputTokens !== null || outputTokens !== null) && (
        <span title="Tokens in and out">
          {outputTokens ? `${count(inputTokens ?? 0)} → ${count(outputTokens)}` : count(inputTokens ?? 0)} tokens
          {perSecond !== null && <span className="text-faint"> · {count(Math.round(perSecond))}/s</span>}
        </span>
      )}
      {costUsd !== null && <span title={exactUsd(costUsd)}>{usd(costUsd)}</span>}
      {provider !== null &&
        (requestId !== null && operator ? (
          <Link to={`/dashboard/requests/${requestId}`} className="underline underline-offset-2 hover:text-ink">
            {provider}
          </Link>
        ) : (
          <span>{provider}</span>
        ))}
      {dropped !== null && dropped !== '' && <span className="text-warn">Dropped: {dropped}</span>}
      <span className="ml-auto flex">{children}</span>
    </div>
  );
}
